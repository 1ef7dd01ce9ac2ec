// A temporary folder of one test.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class ScratchFolder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'sluice-'));

  at(...names: readonly string[]): string {
    return join(this.path, ...names);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
