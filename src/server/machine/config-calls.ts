// Placeholder.

import type { CallContext, CallGroup, MethodsOf } from './call-group.js';

export function createConfigCalls(_context: CallContext): CallGroup<MethodsOf<'environmentConfig'>> {
  throw new Error('not implemented');
}
