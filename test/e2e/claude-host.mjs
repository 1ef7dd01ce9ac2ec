// A program that runs claude in-process and is meant to be killed: prints the name of the run's file and waits for the end.

import { connectInProcess } from 'sluice';
import { claude, startAgent } from 'sluice/runner';

const { program, ...options } = JSON.parse(process.argv[2]);
const run = startAgent({ client: connectInProcess(), adapter: claude({ program }), ...options });
process.stdout.write(`${run.logFile}\n`);
await run.outcome;
