// Placeholder.

import type { CallContext, CallGroup, MethodsOf } from './call-group.js';

export function createPortCalls(_context: CallContext): CallGroup<MethodsOf<'ports'>> {
  throw new Error('not implemented');
}
