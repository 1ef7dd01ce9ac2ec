// Turns failures of the files layer into the errors of the protocol.

import { FileError } from '../../files/index.js';
import { execError } from '../../protocol/index.js';
import { FlowResetError } from '../../rpc/flow.js';

/** Any other failure is passed on unchanged: it is a fault of the server. */
export function fileFailureOf(error: unknown): unknown {
  if (error instanceof FlowResetError) return execError('fileFailed', { problem: error.message }, { cause: error }); // by the caller
  if (!(error instanceof FileError)) return error;
  const { message: problem, errno } = error;
  const facts = { problem, ...(errno === undefined ? {} : { errno }) };
  switch (error.kind) {
    case 'notFound':
      return execError('fileNotFound', facts, { cause: error });
    case 'refused':
      return execError('fileRefused', facts, { cause: error });
    case 'failed':
      return execError('fileFailed', facts, { cause: error });
    case 'badUri':
      return execError('invalidParams', { problem }, { cause: error });
  }
}

/** The same handlers, with failures of the files layer turned into errors of the protocol. */
export function withFileFailures<Handlers extends Readonly<Record<string, (...given: never[]) => Promise<unknown>>>>(
  handlers: Handlers,
  failureOf: (error: unknown) => unknown = fileFailureOf,
): Handlers {
  const wrapped = Object.entries(handlers).map(([name, handler]) => [
    name,
    async (...given: never[]) => {
      try {
        return await handler(...given);
      } catch (error) {
        throw failureOf(error);
      }
    },
  ]);
  // oxlint-disable-next-line typescript/no-unsafe-return -- the table meets dynamic names: the same names, each with the same type
  return Object.fromEntries(wrapped);
}
