// Whether colours help whoever reads a stream of ours.

/** Only on a terminal, and not when NO_COLOR is set to anything. */
export function isColoured(stream: NodeJS.WriteStream): boolean {
  const refused = process.env['NO_COLOR'];
  return stream.isTTY && (refused === undefined || refused === '') && process.env['TERM'] !== 'dumb';
}
