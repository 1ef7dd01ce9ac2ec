// The behaviour contract of Sluice, run over every way to connect. One group per promise of the design, and others for the remaining
// calls.

import { describe } from 'node:test';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { attaching } from './attaching.js';
import { bounded } from './bounded.js';
import type { Connector } from './connector.js';
import { controlNeverWaits } from './control-never-waits.js';
import { environmentContract } from './environment.js';
import { everyByte } from './every-byte.js';
import { fileContract } from './files.js';
import { fileTransferContract } from './file-transfers.js';
import { honestEndings } from './honest-endings.js';
import { nothingLeftBehind } from './nothing-left-behind.js';
import { oneShot } from './one-shot.js';
import { refusals } from './refusals.js';

export function execContract(connector: Connector): void {
  describe(connector.name, () => {
    guardAgainstLeaks();
    everyByte(connector);
    honestEndings(connector);
    bounded(connector);
    controlNeverWaits(connector);
    nothingLeftBehind(connector);
    oneShot(connector);
    attaching(connector);
    environmentContract(connector);
    refusals(connector);
    fileContract(connector);
    fileTransferContract(connector);
  });
}
