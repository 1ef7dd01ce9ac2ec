// Placeholder.

import type { CallContext, CallGroup, MethodsOf } from './call-group.js';

export function createHttpCalls(_context: CallContext): CallGroup<MethodsOf<'http'>> {
  throw new Error('not implemented');
}
