// Fails a suite that leaks something: a child process, an open descriptor, a handle that keeps the program alive, a file.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { after, before } from 'node:test';
import { readProcTable } from '#src/process/end/proc-table.js';
import { eventually } from './eventually.js';

/** Call once at the top of a suite. Keeps checking while things are still being cleaned up, then names what remains. */
export function guardAgainstLeaks(): void {
  let baseline: Belongings;
  before(async () => {
    await openFirstStream();
    baseline = await belongings();
  });
  after(async () => {
    await eventually(async () => {
      const now = await belongings();
      assert.deepEqual(now.children, baseline.children, 'child processes left behind');
      assert.deepEqual(moreThan(now.descriptors, baseline.descriptors), [], 'descriptors left open');
      assert.deepEqual(moreThan(now.resources, baseline.resources), [], 'timers or handles left behind');
      assert.deepEqual(moreThan(now.files, baseline.files), [], 'files left behind');
    });
  });
}

/** When a program opens its first stream, libuv opens /dev/null and keeps it, as a reserve for running out of descriptors. */
async function openFirstStream(): Promise<void> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

interface Belongings {
  readonly children: readonly number[];
  readonly descriptors: readonly string[];
  readonly resources: readonly string[];
  readonly files: readonly string[];
}

async function belongings(): Promise<Belongings> {
  const table = await readProcTable();
  return {
    children: table.entries.filter(({ ppid }) => ppid === process.pid).map(({ pid }) => pid),
    descriptors: openDescriptors(),
    resources: process.getActiveResourcesInfo(),
    // Every test names its temporary folders like this. The user's own folder for sockets stays: see process/sandbox/views.ts.
    files: readdirSync(tmpdir()).filter((name) => name.startsWith('sluice-') && name !== `sluice-${process.getuid?.() ?? 0}`),
  };
}

/** The target of each descriptor, without the numbers that differ from one pipe to the next. */
function openDescriptors(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`).replace(/\d+/g, 'N')];
    } catch {
      return []; // the descriptor that lists the descriptors
    }
  });
}

function moreThan(now: readonly string[], earlier: readonly string[]): string[] {
  const rest = [...earlier];
  return now.filter((item) => {
    const at = rest.indexOf(item);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
}
