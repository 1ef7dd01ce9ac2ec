// What a model has codex do, and what must come back. Each scenario is one conversation: `play` makes the model's calls in order.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * @typedef {object} Stage
 * @property {import('./mock-model.mjs').Tools} tools
 * @property {string} folder where commands start
 * @property {string} mark value of SLUICE_E2E in the server's environment
 * @property {Awaited<ReturnType<typeof import('./wire-proxy.mjs').openWireProxy>> | undefined} wire absent on stdio
 *
 * @typedef {object} Scenario
 * @property {string} about
 * @property {(stage: Stage) => Promise<void>} play
 * @property {'whole' | 'cut'} wire 'cut' when codex does not see every process to its end on one connection
 * @property {(stage: Stage) => Promise<void>} [afterwards] looks again when codex has ended
 */

/** Long enough for a command to be started and to say something, short enough to wait for it, in milliseconds. */
const glance = { yield_time_ms: 1_000 };

/** @type {Record<string, Scenario>} */
export const scenarios = {
  pipe: {
    about: 'a command on pipes has its folder, its environment, both streams, an empty stdin and its exit code',
    wire: 'whole',
    async play({ tools, folder, mark }) {
      const { output, exitCode } = await tools.exec('pwd; echo "$SLUICE_E2E $TERM $CODEX_CI"; cat; echo oops >&2; exit 3');
      assert.deepEqual(output.split('\n').toSorted(), ['', folder, `${mark} dumb 1`, 'oops'].toSorted());
      assert.equal(exitCode, 3);
    },
  },

  tty: {
    about: 'a command on a terminal reads two lines, one after the other',
    wire: 'whole',
    async play({ tools }) {
      const cmd = 'test -t 0 && test -t 1 && stty size; read -r a; echo "<$a>"; read -r b; echo "<$b>"; exit 5';
      const started = await seen(tools, await tools.exec(cmd, { tty: true, ...glance }), '24 80\n');
      const first = await seen(tools, await tools.write(started.session, 'one\n', glance), '<one>\n');
      const second = await tools.write(first.session, 'two\n');
      assert.deepEqual(
        [started, first, second].map(({ output }) => lines(output)),
        ['24 80\n', 'one\n<one>\n', 'two\n<two>\n'],
      );
      assert.equal(second.exitCode, 5);
    },
  },
};

/** Looks again until the command has written `text`; the result has all output since `result`. */
async function seen(tools, result, text) {
  let { output, ...state } = result;
  while (!lines(output).includes(text)) {
    assert.notEqual(state.session, undefined, `the command ended without "${text}": "${output}"`);
    const next = await tools.write(state.session, '', glance);
    state = next;
    output += next.output;
  }
  return { ...state, output };
}

/** A terminal ends a line with two characters. */
function lines(text) {
  return text.replaceAll('\r\n', '\n');
}
