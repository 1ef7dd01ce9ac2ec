// Decides whether one of our streams is coloured, and colours text.

import { styleText } from 'node:util';

export type Style = Parameters<typeof styleText>[0];

/** Only on a terminal, and not when NO_COLOR is set to a non-empty value. */
export function isColoured(stream: NodeJS.WriteStream): boolean {
  const refused = process.env['NO_COLOR'];
  return stream.isTTY && (refused === undefined || refused === '') && process.env['TERM'] !== 'dumb';
}

/** Skips Node's own detection, which differs between its versions and does not recognise a terminal on a build machine. */
export function paint(style: Style, text: string): string {
  return styleText(style, text, { validateStream: false });
}
