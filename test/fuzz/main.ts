// Fuzzes real servers over stdio, WebSocket and Unix socket, with and without TLS and credentials, on both backends. Every case can be
// reproduced from its seed and number.
//
//   npm run fuzz -- [--inputs 200000] [--seed N] [--case M]

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Failure, type Report, failsAlone, runCampaign } from './campaign.js';
import { type FuzzCase, type Input, withInputs } from './cases.js';
import { guises } from './guises.js';

const { values } = parseArgs({
  options: { inputs: { type: 'string', default: '200000' }, seed: { type: 'string' }, case: { type: 'string' } },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(values.seed);
const print = (line: string) => void process.stdout.write(`${line}\n`);

print(`seed ${seed}`);
const startedAt = performance.now();
let printedAt = 0;
const report = await runCampaign({
  seed,
  inputs: Number(values.inputs),
  ...(values.case === undefined ? {} : { only: Number(values.case) }),
  progress: (inputs) => {
    if (inputs - printedAt < 20_000) return;
    printedAt = inputs;
    print(`${inputs} inputs`);
  },
});
printReport(report);
if (report.failure !== undefined) {
  await explain(report.failure);
  process.exitCode = 1;
}

function printReport({ inputs, cases, byTransport, byGuise, byLabel, before, after }: Report): void {
  const seconds = (performance.now() - startedAt) / 1000;
  print(`${inputs} inputs over ${cases} connections in ${seconds.toFixed(1)} s: ${Math.round(inputs / seconds)} a second`);
  print(
    Object.entries({ ...byTransport, ...byGuise })
      .map(([name, count]) => `${name} ${count}`)
      .join(', '),
  );
  print([...byLabel].map(([name, count]) => `${name} ${count}`).join(', '));
  for (const [index, guise] of guises.entries()) {
    print(`${guise}: before ${JSON.stringify(before[index])}\n${guise}: after  ${JSON.stringify(after[index])}`);
  }
}

async function explain({ case: failed, problems }: Failure): Promise<void> {
  print(`FAILED\n${problems.slice(0, 10).join('\n')}`);
  if (failed === undefined) return print(`reproduce: npm run fuzz -- --seed ${seed} --inputs ${values.inputs}`);
  print(`reproduce: npm run fuzz -- --seed ${seed} --case ${failed.index}`);
  const smallest = await shrunk(failed);
  const file = join(mkdtempSync(join(tmpdir(), 'fuzz-')), `seed-${seed}-case-${failed.index}.json`);
  writeFileSync(
    file,
    JSON.stringify(smallest, (_, value: unknown) => (isBytes(value) ? shown(value) : value), 2),
  );
  print(`${smallest.inputs.length} inputs remain, in ${file}`);
}

/** Removes as many inputs as possible while the case still fails alone. Returns the whole case if it does not. */
async function shrunk(failed: FuzzCase): Promise<FuzzCase> {
  if ((await failsAlone(failed)).length === 0) return failed;
  let inputs: readonly Input[] = failed.inputs;
  for (let size = Math.ceil(inputs.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < inputs.length;) {
      const fewer = inputs.toSpliced(at, size);
      if ((await failsAlone(withInputs(failed, fewer))).length > 0) inputs = fewer;
      else at += size;
    }
  }
  return withInputs(failed, inputs);
}

interface SerializedBytes {
  readonly type: 'Buffer';
  readonly data: readonly number[];
}

function isBytes(value: unknown): value is SerializedBytes {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer';
}

function shown({ data }: SerializedBytes): string {
  return Buffer.from(data).toString('latin1');
}
