#!/usr/bin/env node
// Parse, run one command, set its exit code. The only place that reads argv.

import { version } from '../server/index.js';

const usage = `Run a command, on pipes or in a real terminal, and leave nothing behind.

  sluice exec -t -- bash          in a real terminal
  sluice exec -- make test        on pipes; stdin is forwarded unless it is a terminal
  sluice serve                    serve other programs; "sluice serve --help" lists its options

Options of exec
  -t, --tty       give the command a terminal of its own

Exit status: the command's own; 128+N when signal N ended it; 125 when Sluice itself failed;
126 when the program cannot be executed; 127 when it does not exist.
`;

/** Sluice itself could not do what was asked. */
const ownFailure = 125;

async function main(argv: readonly string[]): Promise<number> {
  const [command, ...rest] = argv;
  switch (command) {
    case 'exec':
      return (await import('./exec.js')).exec(rest);
    case 'serve':
      return (await import('./serve.js')).serve(rest);
    case '--version':
    case '-V':
      process.stdout.write(`${version}\n`);
      return 0;
    case undefined:
    case '--help':
    case '-h':
      process.stdout.write(usage);
      return 0;
    default:
      process.stderr.write(`sluice: unknown command "${command}"; "sluice --help" lists them\n`);
      return ownFailure;
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`sluice: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = ownFailure;
}
