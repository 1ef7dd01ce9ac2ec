// Placeholder.

import type { CallContext, CallGroup, MethodsOf } from './call-group.js';

export function createCodexFileCalls(_context: CallContext): CallGroup<MethodsOf<'fs'>> {
  throw new Error('not implemented');
}
