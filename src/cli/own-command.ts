// How this very program is started again, with the same Node and the same flags.

/** Past the shell at its head: such a server is everybody's, and ignores no signal because one of its users does. */
export function ownCommand(args: readonly string[]): { readonly command: string; readonly args: readonly string[] } {
  // After the two dashes nothing is an option of Node's.
  return { command: process.execPath, args: [...process.execArgv, '--', process.argv[1] ?? '', ...args] };
}
