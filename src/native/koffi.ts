// Loads koffi, through which the Linux code calls libc. The only importer of the package; each layer binds the functions it needs.

import { createRequire } from 'node:module';
import type Koffi from 'koffi';

/** Undefined if koffi is not installed for this machine. */
export function loadKoffi(): typeof Koffi | undefined {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-return -- createRequire is untyped; these are the package's own types
    return createRequire(import.meta.url)('koffi');
  } catch {
    return undefined;
  }
}
