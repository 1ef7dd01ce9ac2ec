// Placeholder.

import type { Params, Result } from '../../protocol/index.js';
import type { Flow } from '../../rpc/flow.js';
import type { SharedFiles } from './machine.js';

export async function writeFile(
  _shared: SharedFiles,
  _params: Params<'files/write'>,
  _flow: Flow,
): Promise<Result<'files/write'>> {
  throw new Error('not implemented');
}
