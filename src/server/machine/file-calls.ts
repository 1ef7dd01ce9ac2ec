// Placeholder.

import type { CallContext, CallGroup, MethodsOf } from './call-group.js';

export function createFileCalls(_context: CallContext): CallGroup<MethodsOf<'files'>> {
  throw new Error('not implemented');
}
