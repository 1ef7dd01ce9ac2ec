// What a model has codex do, and what it must get back. Each scenario is one conversation: `play` makes the model's calls, and when it
// returns, codex ends; the runner finds processes that survive it.

import assert from 'node:assert/strict';
import { livesOf } from './wire-proxy.mjs';

/**
 * @typedef {object} Stage
 * @property {import('./mock-model.mjs').Tools} tools
 * @property {string} folder where commands start
 * @property {string} mark value of E2E_MARK in the server's environment
 * @property {() => number[]} running pids of the processes that codex's commands have started
 * @property {import('./wire-proxy.mjs').WireProxy} wire absent on stdio
 *
 * @typedef {object} Scenario
 * @property {string} about
 * @property {readonly string[]} [on] the transports it is for; all when absent
 * @property {'wrong'} [token] present if codex gets a different token from the server's
 * @property {(stage: Stage) => Promise<void>} play
 * @property {(messages: import('./wire-proxy.mjs').WireMessage[]) => void} inspect checks the recorded messages, if any
 */

/** Long enough for a command to start and print something, in milliseconds. */
const glance = { yield_time_ms: 1_000 };

const cuttable = ['ws', 'token'];

/** What codex keeps of a command's output between two looks of the model: this many bytes from either end. */
const keptBytes = 512 * 1024;

/** @type {Record<string, Scenario>} */
export const scenarios = {
  pipe: {
    about: 'a command on pipes has its folder, its environment, an empty stdin, two streams and an exit code',
    async play({ tools, folder, mark }) {
      const { output, exitCode } = await tools.exec('pwd; echo "$E2E_MARK $TERM $CODEX_CI"; cat; echo oops >&2; exit 3');
      assert.deepEqual(output.split('\n').toSorted(), ['', folder, `${mark} dumb 1`, 'oops'].toSorted());
      assert.equal(exitCode, 3);
    },
    inspect(messages) {
      const [{ events }] = wholeLivesOf(messages, 1);
      const streams = events.flatMap(({ params }) => params?.stream ?? []);
      assert.deepEqual(new Set(streams), new Set(['stdout', 'stderr']));
    },
  },

  tty: {
    about: 'a command on a terminal reads two lines, one after the other',
    async play({ tools }) {
      const cmd = 'test -t 0 && test -t 1 && stty size; read -r a; echo "<$a>"; read -r b; echo "<$b>"; exit 5';
      const started = await seen(tools, await tools.exec(cmd, { tty: true, ...glance }), '24 80\r\n');
      const first = await seen(tools, await tools.write(started.session, 'one\n', glance), '<one>\r\n');
      const second = await tools.write(started.session, 'two\n');
      const outputs = [started, first, second].map(({ output }) => output);
      assert.deepEqual(outputs, ['24 80\r\n', 'one\r\n<one>\r\n', 'two\r\n<two>\r\n']);
      assert.equal(second.exitCode, 5);
    },
    inspect: (messages) => wholeLivesOf(messages, 1),
  },

  interrupt: {
    about: 'an interrupt ends a command on pipes with 130, and reaches the trap of one on a terminal',
    async play({ tools }) {
      const piped = await tools.exec('sleep 100', glance);
      assert.deepEqual(await tools.write(piped.session, '\u0003'), { output: '', exitCode: 130 });
      const trap = 'trap "echo caught; exit 7" INT; echo ready; while :; do sleep 0.1; done';
      const trapped = await seen(tools, await tools.exec(trap, { tty: true, ...glance }), 'ready\r\n');
      assert.deepEqual(await tools.write(trapped.session, '\u0003'), { output: '^Ccaught\r\n', exitCode: 7 });
    },
    inspect: (messages) => wholeLivesOf(messages, 2),
  },

  poll: {
    about: 'output of a slow command between two looks is seen once',
    async play({ tools }) {
      const first = await tools.exec('echo start; sleep 3; echo end', glance);
      assert.notEqual(first.session, undefined, `the command ended after ${glance.yield_time_ms} ms`);
      const second = await tools.write(first.session, '');
      assert.deepEqual({ ...second, output: first.output + second.output }, { output: 'start\nend\n', exitCode: 0 });
    },
    inspect: (messages) => wholeLivesOf(messages, 1),
  },

  two: {
    about: 'two commands run at the same time, each waiting for the other',
    async play({ tools }) {
      const meet = (own, other) => `touch ${own}; until test -e ${other}; do sleep 0.05; done; echo ${own}`;
      const results = await Promise.all([tools.exec(meet('left', 'right')), tools.exec(meet('right', 'left'))]);
      assert.deepEqual(results, [
        { output: 'left\n', exitCode: 0 },
        { output: 'right\n', exitCode: 0 },
      ]);
    },
    inspect: (messages) => wholeLivesOf(messages, 2),
  },

  large: {
    about: '1.3 MB of output arrives complete',
    async play({ tools }) {
      const { output, exitCode } = await tools.exec('seq 1 200000');
      const all = countTo(200_000);
      const omitted = `\n... ${all.length - 2 * keptBytes} bytes omitted ...\n`;
      const expected = all.slice(0, keptBytes) + omitted + all.slice(-keptBytes);
      assert.ok(
        output === expected,
        `${output.length} characters, not the expected ${expected.length}: "${output.slice(0, 200)}"`,
      );
      assert.equal(exitCode, 0);
    },
    inspect(messages) {
      const [{ bytes }] = wholeLivesOf(messages, 1);
      assert.ok(bytes.toString() === countTo(200_000), `${bytes.length} bytes, and not the expected ones, crossed the wire`);
    },
  },

  bytes: {
    about: 'bytes that are not UTF-8 cross the wire unchanged, and a character split over two writes stays whole',
    async play({ tools }) {
      const each = 'for n in $(seq 0 255); do printf "\\\\$(printf %03o $n)"; done';
      const { output, exitCode } = await tools.exec(`${each}; printf '\\303'; sleep 0.3; printf '\\274'`);
      assert.deepEqual({ output, exitCode }, { output: everyByte.toString(), exitCode: 0 });
    },
    inspect(messages) {
      const [{ bytes }] = wholeLivesOf(messages, 1);
      assert.equal(bytes.toString('hex'), everyByte.toString('hex'));
    },
  },

  gone: {
    about: 'a command that still runs when codex ends is terminated, including its child that ignores TERM',
    async play({ tools, running }) {
      const { session } = await tools.exec(`(trap '' TERM HUP INT; while :; do sleep 1; done) & sleep 300`, glance);
      assert.notEqual(session, undefined, 'the command ended early');
      assert.ok(running().length >= 2, 'running processes are not found, so a leak would not be noticed either');
    },
    inspect: () => {}, // codex does not wait for the end
  },

  resume: {
    about: 'after a connection that loses messages is cut, nothing is lost and nothing repeated',
    on: cuttable,
    async play({ tools, wire }) {
      const cut = async () => {
        await wire.until((messages) => bytesIn(messages).includes('\n20\n'));
        wire.lose();
        await wire.until((messages) => bytesIn(messages).includes('\n40\n'));
        wire.cut();
      };
      const cmd = 'for n in $(seq 1 200); do echo $n; sleep 0.01; done; exit 4';
      const [ended] = await Promise.all([tools.exec(cmd), cut()]);
      assert.deepEqual(ended, { output: countTo(200), exitCode: 4 });
    },
    inspect: sameSessionOnTwoConnections,
  },

  hole: {
    about: 'if more output is lost with the connection than is retained, codex gets an error at once instead of waiting',
    on: cuttable,
    async play({ tools, wire }) {
      const cut = async () => {
        await wire.until((messages) => bytesIn(messages).includes('begin\n'));
        wire.lose();
        await wire.until((messages) => bytesIn(messages).includes('\nend\n'));
        wire.cut();
      };
      const cmd = `echo begin; sleep 1; head -c ${3 * 1024 * 1024} /dev/zero | tr '\\0' x; echo; echo end; exit 4`;
      const recovery = assert.rejects(tools.exec(cmd), /failed to recover process .* events are no longer retained/);
      await Promise.all([recovery, cut()]);
    },
    inspect: sameSessionOnTwoConnections,
  },

  rewrite: {
    about: 'input whose acknowledgement is lost with the connection is resent and arrives once',
    on: cuttable,
    async play({ tools, wire }) {
      const cmd = 'stty -echo; echo ready; while read -r line; do echo "<$line>"; done';
      const { session } = await seen(tools, await tools.exec(cmd, { tty: true, ...glance }), 'ready\r\n');
      const cut = async () => {
        wire.lose();
        await wire.until((messages) => bytesIn(messages).includes('<one>'));
        wire.cut();
      };
      const [first] = await Promise.all([tools.write(session, 'one\n', glance), cut()]);
      const second = await tools.write(session, 'two\n\u0004');
      assert.deepEqual([first.output + second.output, second.exitCode], ['<one>\r\n<two>\r\n', 0]);
    },
    inspect(messages) {
      sameSessionOnTwoConnections(messages);
      const writes = messages.filter(({ body }) => body.method === 'process/write').map(({ body }) => body.params.writeId);
      assert.deepEqual(writes, ['1', '1', '2']);
    },
  },

  refused: {
    about: 'codex with a wrong token is refused and can run nothing',
    on: ['token'],
    token: 'wrong',
    async play({ tools, running }) {
      await assert.rejects(tools.exec('sleep 300', glance), /^Error: codex answered "No usable execution environment/);
      assert.deepEqual(running(), []);
    },
    inspect(messages) {
      assert.notEqual(messages.length, 0);
      for (const { body } of messages) assert.match(body, /^HTTP\/1\.1 401/);
    },
  },
};

/** Every possible byte, then a character of two bytes. */
const everyByte = Buffer.from([...Array(256).keys(), ...Buffer.from('ü')]);

function countTo(last) {
  return Array.from({ length: last }, (_, index) => `${index + 1}\n`).join('');
}

/** Polls until the command has written `text`; the result has all output since `result`. */
async function seen(tools, result, text) {
  let { output, session } = result;
  while (!output.includes(text)) {
    assert.notEqual(session, undefined, `the command ended without "${text}" in "${output}"`);
    const next = await tools.write(session, '', glance);
    output += next.output;
    session = next.session;
  }
  return { ...result, output };
}

/**
 * Checks that this many processes were started, and that each was seen from the reply to its start to its last event, in order and without
 * gaps.
 */
function wholeLivesOf(messages, count) {
  const lives = livesOf(messages);
  assert.equal(lives.length, count, `${lives.length} processes were started, not ${count}`);
  for (const { id, events } of lives) {
    const [reply, ...rest] = events;
    assert.equal(
      reply?.result?.processId,
      id,
      `the first message about ${id} was ${JSON.stringify(reply)}, not the reply to its start`,
    );
    assert.deepEqual(
      rest.map(({ params }) => params.seq),
      rest.map((_, index) => index + 1),
      `sequence numbers of ${id}`,
    );
    assert.deepEqual(
      rest.map(({ method }) => method).filter((method) => method !== 'process/output'),
      ['process/exited', 'process/closed'],
    );
    assert.equal(rest.at(-1).method, 'process/closed');
  }
  return lives;
}

function bytesIn(messages) {
  return Buffer.concat(livesOf(messages).map(({ bytes }) => bytes));
}

function sameSessionOnTwoConnections(messages) {
  const handshakes = messages.filter(({ body }) => body.method === 'initialize');
  const [{ body: reply }] = messages.filter(({ from, connection }) => from === 'server' && connection === 1);
  assert.deepEqual(
    handshakes.map(({ body }) => body.params.resumeSessionId),
    [null, reply.result.sessionId],
  );
}
