// A temporary folder of one test, in memory where the machine has such a place: on a busy disk, a thousand files take seconds.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const parent = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

export class ScratchFolder implements Disposable {
  readonly path = mkdtempSync(join(parent, 'sluice-'));

  at(...names: readonly string[]): string {
    return join(this.path, ...names);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
