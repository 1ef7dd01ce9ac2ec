// `sluice doctor`: checks what this machine offers to Sluice, and suggests what to do where that is not enough.

import { isColoured, paint } from '../colour.js';
import { type Command, defineCommand } from '../command.js';
import { checks, examine } from './checks.js';
import type { Finding } from './finding.js';
import { print } from '../own-output.js';
import { jsonLine, visible } from '../visible-text.js';

export const doctor: Command = defineCommand(
  {
    name: 'doctor',
    usage: '[OPTIONS]',
    about:
      'Checks whether Sluice works on this machine by trying it: runs commands on pipes and in a terminal, kills a server and verifies ' +
      'that nothing of it is left, and reads the limits that apply. Suggests a remedy for each problem that has one.',
    examples: [
      { line: 'sluice doctor', meaning: 'one line per check' },
      { line: 'sluice doctor --json', meaning: 'for programs' },
    ],
    options: {
      json: {
        kind: 'switch',
        meaning: 'Print one JSON object at the end: ok, and checks with name, state, found and remedy.',
      },
    },
    operands: 'none',
    notes: [
      '✓ means fine; ! is a warning: Sluice works, with limitations; ✗ means broken.',
      'Exit status: 0 when Sluice works here, even with warnings; 1 when something is broken; 125 when Sluice itself failed.',
    ],
  },
  async ({ flags }) => (flags.json ? printJson() : printLines()),
);

async function printJson(): Promise<number> {
  const results: ({ readonly name: string } & Finding)[] = [];
  for (const check of checks) results.push({ name: check.name, ...(await examine(check)) });
  const ok = results.every(({ state }) => state !== 'broken');
  await print(jsonLine({ ok, checks: results }));
  return statusOf(results);
}

/** Prints each line as soon as it is known: all checks together take a second or two. */
async function printLines(): Promise<number> {
  const findings: Finding[] = [];
  for (const check of checks) {
    const finding = await examine(check);
    findings.push(finding);
    await print(linesOf(check.name, finding));
  }
  await print(`\n${summary(findings)}\n`);
  return statusOf(findings);
}

function statusOf(findings: readonly Finding[]): number {
  return findings.some(({ state }) => state === 'broken') ? 1 : 0;
}

const marks = { ok: ['✓', 'green'], warning: ['!', 'yellow'], broken: ['✗', 'red'] } as const;
const nameWidth = Math.max(...checks.map(({ name }) => name.length));

function linesOf(name: string, finding: Finding): string {
  const [mark, colour] = marks[finding.state];
  const first = `${isColoured(process.stdout) ? paint(colour, mark) : mark} ${name.padEnd(nameWidth)}  ${visible(finding.found)}\n`;
  if (finding.state === 'ok' || finding.remedy === undefined) return first;
  return `${first}${' '.repeat(nameWidth + 4)}→ ${visible(finding.remedy)}\n`;
}

function summary(findings: readonly Finding[]): string {
  const count = (state: Finding['state']) => findings.filter((finding) => finding.state === state).length;
  if (count('broken') > 0)
    return `Sluice does not work here as it should; broken: ${count('broken')}, warnings: ${count('warning')}.`;
  return count('warning') > 0 ? `Sluice works here; warnings: ${count('warning')}.` : 'Sluice works here.';
}
