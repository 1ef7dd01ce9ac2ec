// Whether a stream of ours is shown in colours, and how they are put on.

import { styleText } from 'node:util';

export type Style = Parameters<typeof styleText>[0];

/** Only on a terminal, and not when NO_COLOR is set to anything. */
export function isColoured(stream: NodeJS.WriteStream): boolean {
  const refused = process.env['NO_COLOR'];
  return stream.isTTY && (refused === undefined || refused === '') && process.env['TERM'] !== 'dumb';
}

/** Without Node's own judgement, which differs between its versions and takes a terminal on a build machine for none. */
export function paint(style: Style, text: string): string {
  return styleText(style, text, { validateStream: false });
}
