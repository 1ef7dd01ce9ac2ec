// Whether commands can be sandboxed here, found out as the server does it.

import { Sandbox } from '../../process/index.js';
import type { Finding } from './finding.js';

export async function sandbox(): Promise<Finding> {
  if (process.platform !== 'linux') return { state: 'ok', found: 'sandboxed commands need Linux and will be refused' };
  const problem = await new Sandbox({ env: process.env, hidden: [] }).ready();
  if (problem === undefined) return { state: 'ok', found: 'bubblewrap shuts commands in' };
  return { state: 'warning', found: 'sandboxed commands will be refused', remedy: problem };
}
