// The actions and options of `sluice files`.

import type { Flags } from '../command.js';
import { serverOptions } from '../server-options.js';

export const fileActions = ['ls', 'cat', 'rm', 'watch', 'edit'] as const;

export const fileOptions = {
  json: { kind: 'switch', group: 'ls and watch', meaning: 'Print JSON: an array for ls, a line for each change for watch.' },
  long: { kind: 'switch', short: 'l', group: 'ls and watch', meaning: 'With ls: show permissions, size and time.' },
  recursive: {
    kind: 'switch',
    short: 'r',
    group: 'rm and watch',
    meaning: 'With rm: remove folders with everything in them. With watch: folders below it too.',
  },
  force: { kind: 'switch', short: 'f', group: 'rm and watch', meaning: 'With rm: succeed if there is nothing.' },
  ...serverOptions,
} as const;

/** What is to be done. */
export interface FileOrder {
  readonly flags: Flags<typeof fileOptions>;
  readonly paths: readonly string[];
}
