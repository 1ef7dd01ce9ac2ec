// Tells the user that the connection to the server is lost and what is being tried, instead of a silent screen.

import type { ConnectionState } from '../client/index.js';

/** Most lost connections are back before a person would notice. */
const quietMs = 1_000;

/** To be called with every state of the connection. Each loss is told once, and its end where the loss was told. */
export function connectionNotice(url: string, tell: (text: string) => void): (state: ConnectionState) => void {
  let timer: NodeJS.Timeout | undefined;
  let isTold = false;
  return (state) => {
    clearTimeout(timer);
    switch (state.kind) {
      case 'lost': {
        const patience = `${Math.ceil(state.retryMs / 1_000)} s`;
        timer = setTimeout(() => {
          isTold = true;
          tell(`the connection to ${url} was lost (${state.problem}); trying to reconnect for up to ${patience}`);
        }, quietMs);
        break;
      }
      case 'back':
        if (isTold) tell('connected again');
        isTold = false;
        break;
      case 'over': // told by the command, with what it means for it
    }
  };
}
