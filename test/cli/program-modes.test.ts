// The modes that a program has set in a terminal are reset, and nothing else.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProgramModes } from '#src/cli/program-modes.js';

const esc = '\x1b';

function undone(...pieces: string[]): string {
  const modes = new ProgramModes();
  for (const piece of pieces) modes.see(Buffer.from(piece, 'latin1'));
  return modes.undo();
}

for (const [name, written, undo] of [
  ['nothing', 'plain text\r\n', ''],
  ['cursor keys and keypad', `${esc}[?1h${esc}=`, `${esc}[?1l${esc}>`],
  ['mouse', `${esc}[?1000h${esc}[?1002;1006h`, `${esc}[?1000l${esc}[?1002l${esc}[?1006l`],
  ['bracketed paste and focus', `${esc}[?2004h${esc}[?1004h`, `${esc}[?2004l${esc}[?1004l`],
  ['a hidden cursor and its shape', `${esc}[?25l${esc}[2 q`, `${esc}[?25h${esc}[0 q`],
  ['colours', `${esc}[1;31mred`, `${esc}[0m`],
  ['the alternate screen', `${esc}[?1049h`, `${esc}[?1049l`],
  ['an old alternate screen', `${esc}[?47h`, `${esc}[?47l`],
  ['margins', `${esc}[2;20r`, `${esc}7${esc}[r${esc}8`],
  ['margins of the alternate screen', `${esc}[?1049h${esc}[2;20r`, `${esc}[r${esc}[?1049l`],
  ['keyboard flags of the alternate screen', `${esc}[>1u${esc}[?1049h${esc}[>5u${esc}[>1u`, `${esc}[<2u${esc}[?1049l${esc}[<1u`],
  ['modified keys', `${esc}[>4;2m`, `${esc}[>4m`],
  ['line drawing', `\x0e${esc}(0`, `\x0f${esc}(B`],
  ['insert mode', `${esc}[4h`, `${esc}[4l`],
] as const) {
  test(`undoes ${name}`, () => assert.equal(undone(written), undo));
  test(`undoes ${name} in single bytes`, () => assert.equal(undone(...written.split('')), undo));
}

test('leaves alone what the program has reset itself', () => {
  const on = `${esc}[?1049;1;25;1000;2004h${esc}[?25l${esc}=${esc}[1m${esc}[>1u${esc}[2;3r${esc}[3 q${esc}[>4;1m`;
  const off = `${esc}[r${esc}[<u${esc}[?1049;1;1000;2004l${esc}[?25h${esc}>${esc}[m${esc}[ q${esc}[>4m`;
  assert.equal(undone(on, off), '');
});

test('leaves alone a terminal that was reset', () => {
  assert.equal(undone(`${esc}[?1049h${esc}[?1h${esc}[1m`, `${esc}c`), '');
});
