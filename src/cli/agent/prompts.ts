// Further prompts for a run, one a line, from our stdin.

import { createInterface } from 'node:readline';
import type { AgentRun } from '../../runner/index.js';
import { openInput, untilEnd } from '../own-input.js';

/** Sends each line when the turn before has ended. Rejects when stdin cannot be read to its end. */
export async function sendLines(run: AgentRun): Promise<void> {
  for await (const line of untilEnd(createInterface(openInput()))) {
    if (run.isOver) return;
    if (line.trim() !== '') await run.send(line).result;
  }
}
