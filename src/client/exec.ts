// Runs a command in one call with the one-shot methods: no handle, no retained output, and the command ends with the connection.

import {
  type EnvPolicy,
  type Params,
  type Result,
  type SandboxPolicy,
  type Size,
  asProcessId,
  isExecError,
} from '../protocol/index.js';
import { checkOptions } from '../protocol/read-params.js';
import { ConnectionClosedError } from '../rpc/rpc-error.js';
import { inheritance } from './environment.js';
import type { ExecLink } from './exec-link.js';
import { type Input, piecesOf } from './input.js';
import { execOptions } from './option-checks.js';

export interface ExecOptions {
  /** Path or file: URI; the server's folder when absent. */
  readonly cwd?: string;
  /** Added to the variables that the command inherits; overrides those of the same name, and null unsets one. */
  readonly env?: Readonly<Record<string, string | null>>;
  /** What the command inherits from the server. The core variables when absent, as for `start`. */
  readonly envPolicy?: EnvPolicy;
  /** Written to stdin, which is then closed. Empty when absent. */
  readonly input?: Input;
  /** Rejected: the option is called `input`. */
  readonly stdin?: never;
  /** Called with output as it arrives; the result then contains none. */
  readonly onOutput?: (output: ExecOutput) => void;
  /** Terminates the command; the result shows how far it got. */
  readonly signal?: AbortSignal;
  /** Runs the command on a terminal of this size; its output goes only to `onOutput`. */
  readonly tty?: Size;
  /** Kills the command after this long; 10 s when absent, `none` for no limit. */
  readonly timeoutMs?: number | 'none';
  /** Maximum output per stream; 1 MiB when absent, `none` for no limit. */
  readonly outputBytesCap?: number | 'none';
  readonly sandboxPolicy?: SandboxPolicy;
}

export interface ExecOutput {
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Uint8Array;
  /** The stream exceeded the cap; nothing more follows on it. */
  readonly capReached: boolean;
}

export type ExecResult = Result<'command/exec'>;

/** The promised result, with methods to control the command until it ends. */
export interface PendingExec extends Promise<ExecResult> {
  resize(size: Size): Promise<void>;
  /** Kills the command and everything it started. */
  terminate(): Promise<void>;
}

export function execCommand(link: ExecLink, command: readonly string[], options: ExecOptions = {}): PendingExec {
  const processId = asProcessId(crypto.randomUUID());
  const { service } = link;
  const steer = async (call: () => Promise<unknown>): Promise<void> => {
    try {
      await call();
    } catch (error) {
      if (!isReportedByResult(error)) throw error;
    }
  };
  const terminate = () => steer(() => service['command/exec/terminate']({ processId }));
  const run = async (): Promise<ExecResult> => {
    checkOptions(execOptions, options);
    options.signal?.throwIfAborted();
    using _output = link.onOutputDelta(processId, ({ stream, deltaBase64, capReached }) =>
      options.onOutput?.({ stream, bytes: deltaBase64, capReached }),
    );
    const abort = () => void terminate().catch(() => {}); // the result reports how the command ended
    options.signal?.addEventListener('abort', abort, { once: true });
    try {
      const result = service['command/exec']({ ...paramsOf(command, options), processId });
      const feeding = options.input === undefined ? undefined : feed(options.input);
      feeding?.catch(() => {}); // awaited below, after the result
      const ended = await result;
      // The input may wait for ever on its own source; once the command has ended only an error that already occurred matters.
      await Promise.race([feeding, Promise.resolve()]);
      return ended;
    } finally {
      options.signal?.removeEventListener('abort', abort);
    }
  };
  const feed = async (input: Input): Promise<void> => {
    const write = (params: Omit<Params<'command/exec/write'>, 'processId'>) =>
      service['command/exec/write']({ processId, ...params });
    await steer(async () => {
      for await (const piece of piecesOf(input)) await write({ deltaBase64: piece });
      await write({ closeStdin: true });
    });
  };
  return Object.assign(run(), {
    resize: (size: Size) => steer(() => service['command/exec/resize']({ processId, size })),
    terminate,
  });
}

function paramsOf(command: readonly string[], options: ExecOptions): Omit<Params<'command/exec'>, 'processId'> {
  const { cwd, env, tty, timeoutMs, outputBytesCap, sandboxPolicy } = options;
  return {
    command,
    envPolicy: inheritance(options.envPolicy),
    ...(tty === undefined ? {} : { tty: true, size: tty }),
    ...(options.input === undefined ? {} : { streamStdin: true }),
    ...(options.onOutput === undefined ? {} : { streamStdoutStderr: true }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
    ...(timeoutMs === undefined ? {} : timeoutMs === 'none' ? { disableTimeout: true } : { timeoutMs }),
    ...(outputBytesCap === undefined ? {} : outputBytesCap === 'none' ? { disableOutputCap: true } : { outputBytesCap }),
    ...(sandboxPolicy === undefined ? {} : { sandboxPolicy }),
  };
}

/** The result reports it too: the command has ended, has closed its stdin, or its connection is gone. */
function isReportedByResult(error: unknown): boolean {
  const isEnded = isExecError(error, 'commandNotActive') || isExecError(error, 'stdinEnded');
  return isEnded || error instanceof ConnectionClosedError;
}
