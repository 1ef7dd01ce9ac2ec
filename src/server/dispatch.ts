// A method's name and its parameters -> a call of the service, in the order of the calls.

import {
  type CommandMethod,
  type CommandService,
  type ExecService,
  type Method,
  type Params,
  type SessionMethod,
  isCommandMethod,
  isSessionMethod,
} from '../protocol/index.js';
import { readParams } from '../protocol/read-params.js';

/** Calls the handler before returning, so that calls keep their order. */
export function callService<M extends SessionMethod>(service: ExecService, method: M, params: Params<M>): Promise<unknown> {
  return service[method](params);
}

/** The same for the one-shot family. */
export function callCommand<M extends CommandMethod>(service: CommandService, method: M, params: Params<M>): Promise<unknown> {
  return service[method](params);
}

/** How Codex names the groups of methods in its errors. */
export function familyOf(method: Method): string {
  if (method === 'environment/info') return 'environment info';
  return method === 'environment/status' ? 'environment status' : 'exec';
}

/** The service for in-process callers: it reads their parameters by the same schemas as those of a wire, and refuses them with the same errors. */
export function checkedService(service: ExecService): ExecService {
  const check = (method: SessionMethod) => [
    method,
    async (params: unknown) => callService(service, method, readParams(method, params)),
  ];
  // oxlint-disable-next-line typescript/no-unsafe-return -- the table meets dynamic names: one function for each of its methods
  return Object.fromEntries(Object.keys(service).filter(isSessionMethod).map(check));
}

/** The same for the one-shot family. */
export function checkedCommands(service: CommandService): CommandService {
  const check = (method: CommandMethod) => [
    method,
    async (params: unknown) => callCommand(service, method, readParams(method, params)),
  ];
  // oxlint-disable-next-line typescript/no-unsafe-return -- the table meets dynamic names: one function for each of its methods
  return Object.fromEntries(Object.keys(service).filter(isCommandMethod).map(check));
}
