// The result of a check of `sluice doctor`, and how checks read the kernel's files.

import { readFileSync } from 'node:fs';

/** `remedy` is absent when nothing can be done about it. */
export type Finding =
  | { readonly state: 'ok'; readonly found: string }
  | { readonly state: 'warning' | 'broken'; readonly found: string; readonly remedy?: string };

export interface Check {
  readonly name: string;
  /** An error that it throws counts as broken. Leaves nothing behind. */
  readonly look: () => Finding | Promise<Finding>;
}

/** Undefined when the file does not exist, as on another kernel, or may not be read: then nothing is known. */
export type ReadText = (file: string) => string | undefined;

export const readText: ReadText = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // see above: checks report what they could not find out
  }
};

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
