// Old output in a real terminal: nothing in it makes the terminal answer, because the answer would be typed into another program.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Background, InTerminal, sluice } from '../support/cli.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { eventually } from '../support/eventually.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';

/** What vim writes when it starts, in the form printf takes: colours and modes among queries. */
const queries = String.raw`\033[?1004h\033[>4;2m\033[?4m\033[c\033[>c\033[6n\033]11;?\007\033P+q436f\033\\\033[?12$p\033[31mred\033[0m`;

/** What is left of them without the queries. */
const kept = '\x1b[?1004h\x1b[>4;2m\x1b[31mred\x1b[0m';

describe('old output in a terminal', () => {
  let background: Background;
  before(() => (background = new Background()));
  after(() => background[Symbol.asyncDispose]());
  guardAgainstLeaks();

  const open = (...args: string[]) => InTerminal.open(args, { env: background.env });
  const start = async (name: string, script: string) => {
    await background.good(['exec', '-dt', '--name', name, '--', 'sh', '-c', script]);
    await eventually(async () => assert.match(await background.good(['logs', name]), /red/));
  };

  test('is replayed by attach without its queries, while live ones reach the terminal', async () => {
    await start('vim', `stty -echo; printf '${queries}'; read -r line; printf 'live:\\033[6n:over'; read -r line`);
    await using terminal = await open('attach', 'vim');
    assert.equal(await terminal.see('red\x1b[0m'), kept);
    await terminal.type('\r');
    assert.equal(await terminal.see('over'), 'live:\x1b[6n:over');
    await terminal.type('\r');
    assert.equal((await terminal.rest()).code, 0);
  });

  test('reaches a watcher without queries, live ones included: its answers would not reach the program', async () => {
    await start('watched', `stty -echo; printf '${queries}'; read -r line; printf 'live:\\033[6n:over'; read -r line`);
    await using watcher = await open('attach', '--read-only', 'watched');
    assert.equal(await watcher.see('red\x1b[0m'), kept);
    await background.good(['send', 'watched', '--key', 'enter']);
    assert.equal(await watcher.see('over'), 'live::over');
    await background.good(['kill', 'watched']);
    await watcher.rest();
  });

  test('is printed by logs and snapshot without queries, unless --raw is given or the output is not a terminal', async () => {
    await start('printed', `printf '${queries}'`);
    for (const command of ['logs', 'snapshot']) {
      await using shown = await open(command, 'printed');
      assert.equal((await shown.rest()).text, kept, command);
      await using raw = await open(command, '--raw', 'printed');
      assert.match((await raw.rest()).text, /\[6n/, command);
      assert.match(await background.good([command, '--raw', 'printed']), /\[6n/, command);
    }
  });

  test('passes through attach unchanged when a program reads it', async () => {
    await start('piped', `printf '${queries}'`);
    assert.match((await background.run(['attach', 'piped'])).stdout, /\[c.*\[>c.*\[6n/s);
  });
});

describe('output in a terminal after a lost connection', () => {
  guardAgainstLeaks();
  const script = `stty -echo; echo ready; read -r line; printf '${queries}'; read -r line; printf 'live:\\033[6n:over'; exec cat`;

  /** Cuts the connection while the queries are written; returns what is seen of them, and of a query written afterwards. */
  async function seenAround(open: (server: SluiceServer, proxy: CuttingProxy) => Promise<InTerminal>): Promise<string[]> {
    await using server = await SluiceServer.start('websocket', ['--allow-host', '127.0.0.1']);
    await using proxy = await CuttingProxy.open(server.url);
    await using terminal = await open(server, proxy);
    await terminal.see('ready\r\n');
    const unblock = proxy.block();
    const direct = async (...args: string[]) => (await sluice([...args, '--connect', server.url, 'x'])).stdout;
    await direct('send', '--key', 'enter');
    await eventually(async () => assert.match(await direct('logs'), /red/));
    unblock();
    const away = await terminal.see('red\x1b[0m');
    await direct('send', '--key', 'enter');
    // A loss of more than a second is reported, and so is its end.
    return [away, await terminal.see('over')].map((seen) => seen.replaceAll(/(?:\r\n)?sluice: [^\n]*\n/g, ''));
  }

  test('has no queries that exec -t missed, but those that are written afterwards', async () => {
    const seen = await seenAround((_, proxy) =>
      InTerminal.open(['exec', '-t', '--connect', proxy.url, '--name', 'x', '--', 'sh', '-c', script]),
    );
    assert.deepEqual(seen, [kept, 'live:\x1b[6n:over']);
  });

  test('has no queries that attach missed, but those that are written afterwards', async () => {
    const seen = await seenAround(async (server, proxy) => {
      await sluice(['exec', '-dt', '--connect', server.url, '--name', 'x', '--', 'sh', '-c', script]);
      return InTerminal.open(['attach', '--connect', proxy.url, 'x']);
    });
    assert.deepEqual(seen, [kept, 'live:\x1b[6n:over']);
  });
});
