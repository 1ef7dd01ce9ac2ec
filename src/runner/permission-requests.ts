// The permission requests that wait for an answer. While there are any, the program is waiting for the caller.

import type { AdapterEvent } from './agent-event.js';

export type PermissionRequest = Extract<AdapterEvent, { type: 'permission' }>;

export class PermissionRequests {
  readonly #waiting = new Map<string, PermissionRequest>();
  readonly #onChange: (isWaiting: boolean) => void;

  /** `onChange` is called when the first request arrives and when none is left. */
  constructor(onChange: (isWaiting: boolean) => void) {
    this.#onChange = onChange;
  }

  add(request: PermissionRequest): void {
    this.#waiting.set(request.requestId, request);
    if (this.#waiting.size === 1) this.#onChange(true);
  }

  get(requestId: string): PermissionRequest | undefined {
    return this.#waiting.get(requestId);
  }

  delete(requestId: string): void {
    if (this.#waiting.delete(requestId) && this.#waiting.size === 0) this.#onChange(false);
  }

  clear(): void {
    for (const requestId of [...this.#waiting.keys()]) this.delete(requestId);
  }
}
