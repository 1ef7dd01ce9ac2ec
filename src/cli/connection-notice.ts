// Reports a lost connection and the attempt to reconnect, so that the user does not face a silent screen.

import type { ConnectionState } from '../client/index.js';

/** Shorter losses are not reported: most connections are back before a person would notice. */
const quietMs = 1_000;

/** Returns a listener for every state of the connection. Each loss is reported once, and so is the reconnection after a reported loss. */
export function connectionNotice(url: string, notify: (text: string) => void): (state: ConnectionState) => void {
  let timer: NodeJS.Timeout | undefined;
  let isReported = false;
  return (state) => {
    clearTimeout(timer);
    switch (state.kind) {
      case 'lost': {
        const patience = `${Math.ceil(state.retryMs / 1_000)} s`;
        timer = setTimeout(() => {
          isReported = true;
          notify(`the connection to ${url} was lost (${state.problem}); trying to reconnect for up to ${patience}`);
        }, quietMs);
        break;
      }
      case 'back':
        if (isReported) notify('reconnected');
        isReported = false;
        break;
      case 'over': // reported by the command itself, with what it means there
    }
  };
}
