// Finds processes by their environment, which all of their descendants inherit, including those that have left the group or the parent.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * The processes that have all of these variables; a zombie has none.
 *
 * @param {...string} variables as `NAME=value`
 * @returns {number[]} pids
 */
export function processesWith(...variables) {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    const environment = readProc(pid, 'environ');
    return variables.every((variable) => environment.includes(variable));
  });
}

/**
 * Resolves when there are none; if that takes too long, kills the remaining ones and fails.
 *
 * @param {() => number[]} find
 * @param {{ complaint: string, patienceMs: number }} options
 */
export async function eventuallyNone(find, { complaint, patienceMs }) {
  const deadline = performance.now() + patienceMs;
  while (find().length > 0 && performance.now() < deadline) await sleep(50);
  const left = find().map((pid) => ({ pid, command: readProc(pid, 'cmdline').join(' ') }));
  for (const { pid } of left) kill(pid);
  assert.deepEqual(left, [], complaint);
}

/** @param {number} pid of a process or, if negative, of a group; it may have ended */
export function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

function readProc(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0');
  } catch (error) {
    if (!['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(error.code)) throw error;
    return []; // gone, or another user's
  }
}
