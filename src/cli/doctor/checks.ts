// The checks, in the order a reader needs them, and how one is run so that its failure does not end the doctor.

import { setTimeout as sleep } from 'node:timers/promises';
import { backgroundServer } from './background.js';
import { type Check, type Finding, messageOf, readText } from './finding.js';
import { cgroup, openFiles, ownLimits, processes } from './limits.js';
import { backend, nodeVersion, platform, processTable, temporaryFolder } from './machine.js';
import { terminal } from './terminal.js';
import { nothingLeftBehind, pipes, sandbox } from './trials.js';

export const checks: readonly Check[] = [
  { name: 'Node.js', look: () => nodeVersion(process.versions.node) },
  { name: 'platform', look: () => platform(process.platform) },
  { name: 'process table', look: () => processTable(process.platform, readText) },
  { name: 'backend', look: backend },
  { name: 'pipes', look: pipes },
  { name: 'terminal', look: terminal },
  { name: 'nothing left behind', look: nothingLeftBehind },
  { name: 'cgroup', look: () => cgroup(readText) },
  { name: 'open files', look: async () => openFiles(await ownLimits(readText)) },
  { name: 'processes', look: async () => processes(await ownLimits(readText)) },
  { name: 'temporary folder', look: temporaryFolder },
  { name: 'background server', look: backgroundServer },
  { name: 'sandbox', look: sandbox },
];

/** Longer than any timeout inside a check, so that the check itself can report what it was waiting for. */
const defaultPatienceMs = 30_000;

/** Never rejects. */
export async function examine({ look }: Check, patienceMs = defaultPatienceMs): Promise<Finding> {
  const over = new AbortController();
  const late = sleep(patienceMs, 'late' as const, { signal: over.signal });
  try {
    const finding = await Promise.race([Promise.resolve().then(look), late]);
    return finding === 'late' ? { state: 'broken', found: `no answer within ${patienceMs / 1_000} s` } : finding;
  } catch (error) {
    return { state: 'broken', found: messageOf(error) };
  } finally {
    over.abort();
  }
}
