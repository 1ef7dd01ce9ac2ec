// What a check of `sluice doctor` comes to, and how checks read the kernel's files.

import { readFileSync } from 'node:fs';

/** A remedy is absent where nothing can be done about it. */
export type Finding =
  | { readonly state: 'ok'; readonly found: string }
  | { readonly state: 'warning' | 'broken'; readonly found: string; readonly remedy?: string };

export interface Check {
  readonly name: string;
  /** What it throws counts as broken. Leaves nothing behind. */
  readonly look: () => Finding | Promise<Finding>;
}

/** Undefined where there is no such file, as on another kernel, or where reading it is forbidden: then nothing is known. */
export type ReadText = (file: string) => string | undefined;

export const readText: ReadText = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // see above: checks tell what they could not find out
  }
};

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
