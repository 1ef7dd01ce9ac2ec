// Placeholder.

import type { CallContext, CallGroup, MethodsOf } from './call-group.js';

export function createRootCalls(_context: CallContext): CallGroup<MethodsOf<'capabilityRoots'>> {
  throw new Error('not implemented');
}

export function createCapabilityCalls(_context: CallContext): CallGroup<MethodsOf<'capabilities'>> {
  throw new Error('not implemented');
}
