// The sign of life of a run, drawn on a simulated terminal.

import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import { LiveLine } from '#src/cli/agent/live-line.js';

interface Stage {
  readonly line: LiveLine;
  readonly print: (text: string) => void;
  readonly wait: (seconds: number) => void;
}

/** Everything the terminal receives, piece by piece. */
function drawn(play: (stage: Stage) => void, columns = 20): string[] {
  const pieces: string[] = [];
  mock.timers.enable({ apis: ['setInterval'] });
  try {
    const line = new LiveLine({ draw: (text) => pieces.push(text), paint: (text) => text, columns: () => columns });
    line.start();
    play({
      line,
      print: (text) => pieces.push(line.replacedBy(text)),
      wait: (seconds) => mock.timers.tick(seconds * 1_000),
    });
    line.stop();
  } finally {
    mock.timers.reset();
  }
  return pieces;
}

describe('the sign of life', () => {
  test('is drawn after the cursor, which does not move, and is erased by the next output', () => {
    const pieces = drawn(({ line, print, wait }) => {
      print('a line\n');
      wait(1);
      line.describe('requesting');
      wait(1);
      print('more');
      wait(3);
    });
    assert.deepEqual(pieces, [
      'a line\n',
      '\u001b[K... 1 s, requesting\u001b[19D',
      '\u001b[Kmore',
      '\u001b[K ... 1 s\u001b[8D',
      '\u001b[K ... 2 s\u001b[8D',
      '\u001b[K',
    ]);
  });

  test('is cut where the line ends, and absent when the cursor column is uncertain', () => {
    const behind = (text: string) =>
      drawn(({ print, wait }) => {
        print(text);
        wait(2);
      }).slice(1);
    assert.deepEqual(behind('\u001b[90m0123456789012345\u001b[39m'), ['\u001b[K ..\u001b[3D', '\u001b[K']);
    assert.deepEqual(behind('01234567890123456789'), []);
    assert.deepEqual(behind('0123456789012345678901234'), ['\u001b[K ... 1 s\u001b[8D', '\u001b[K']);
    assert.deepEqual(behind('漢字'), []);
    assert.deepEqual(behind('\ttabbed'), []);
    assert.deepEqual(behind('漢字\nplain'), ['\u001b[K ... 1 s\u001b[8D', '\u001b[K']);
  });

  test('shows no status that a terminal would obey or measure differently', () => {
    const pieces = drawn(({ line, wait }) => {
      line.describe('\u001b[2J');
      wait(2);
    });
    assert.deepEqual(pieces, ['\u001b[K... 1 s\u001b[7D', '\u001b[K']);
  });

  test('is absent between turns, and counts from zero in the next', () => {
    const pieces = drawn(({ line, wait }) => {
      wait(2);
      line.stop();
      wait(5);
      line.start();
      wait(2);
    });
    assert.deepEqual(pieces, ['\u001b[K... 1 s\u001b[7D', '\u001b[K', '\u001b[K... 1 s\u001b[7D', '\u001b[K']);
  });
});
