// How this very program is started again, with the same Node and the same flags.

/** Without the shell at its head: a server that all shells share must not ignore a signal because one of them does. */
export function ownCommand(args: readonly string[]): { readonly command: string; readonly args: readonly string[] } {
  // After the two dashes nothing is an option of Node's.
  return { command: process.execPath, args: [...process.execArgv, '--', process.argv[1] ?? '', ...args] };
}
