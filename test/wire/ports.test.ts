// Listening ports: which process of the caller is behind each, and events when one starts or stops to listen.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Client, PortEvent } from '#src/client/index.js';
import { connect, connectInProcess } from '#src/index.js';
import { parseTable } from '#src/server/machine/listening-sockets.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { eventually } from '../support/eventually.js';
import { FarEnd, echo } from '../support/far-end.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { SluiceServer } from '../support/sluice-server.js';

/** Listens on a free port, prints it, and stops when its stdin says so. */
const listener =
  "const s=require('net').createServer().listen(0,process.argv[1],()=>console.log(s.address().port));process.stdin.once('data',()=>process.exit())";

const openPipe = { kind: 'pipe', stdin: 'open' } as const;
const env = { PATH: process.env['PATH'] ?? '' };

describe('listening ports', () => {
  guardAgainstLeaks();

  test('are listed with the process behind each: a child of a shell, a daemon, and none of ours', async () => {
    await using far = await FarEnd.listen(echo);
    await using client = connectInProcess();
    await using child = await client.start({
      argv: ['sh', '-c', `"$0" -e "$1" 127.0.0.1; true`, process.execPath, listener],
      env,
      io: openPipe,
      id: 'web',
    });
    const daemon = `("$0" -e "$1" ::1 < /dev/null & ) ; sleep 60`;
    const script = listener.replace("process.stdin.once('data',()=>process.exit())", '');
    await using other = await client.start({ argv: ['sh', '-c', daemon, process.execPath, script], env, id: 'daemon' });
    const [own, daemons] = [await portPrinted(child), await portPrinted(other)];
    const ports = await client.ports();
    const summary = (port: number) =>
      ports.filter((each) => each.port === port).map(({ address, processId }) => [address, processId]);
    assert.deepEqual(summary(own), [['127.0.0.1', 'web']]);
    assert.deepEqual(summary(daemons), [['::1', 'daemon']]);
    assert.deepEqual(summary(far.port), [['127.0.0.1', undefined]]);
    assert.notEqual(ports.find(({ port }) => port === own)?.pid, child.pid);
  });

  test('of another caller’s processes have no owner', async () => {
    await using other = connectInProcess();
    await using child = await other.start({ argv: [process.execPath, '-e', listener, '127.0.0.1'], env, io: openPipe });
    const port = await portPrinted(child);
    await using client = connectInProcess();
    assert.deepEqual(
      (await client.ports()).filter((each) => each.port === port).map(({ address, pid }) => [address, pid]),
      [['127.0.0.1', undefined]],
    );
  });

  test('are reported when a process starts and stops to listen, first those that are open already', async () => {
    await using far = await FarEnd.listen(echo);
    await using client = connectInProcess();
    const start = (id: string) => client.start({ argv: [process.execPath, '-e', listener, '127.0.0.1'], env, io: openPipe, id });
    await using first = await start('first');
    const firstPort = await portPrinted(first);
    const events = client.portEvents();
    assert.deepEqual(await nextOf(events), ['opened', firstPort, 'first']);
    await using second = await start('second');
    const secondPort = await portPrinted(second);
    assert.deepEqual(await nextOf(events), ['opened', secondPort, 'second']);
    await first.write('stop\n');
    assert.deepEqual(await nextOf(events), ['closed', firstPort, 'first']);
    assert.notEqual(far.port, secondPort); // a port of no process of ours, about which nothing was said
    await events.return(undefined);
  });

  test('are compared again after a lost connection', async () => {
    await using server = await SluiceServer.start('websocket', ['--allow-host', '127.0.0.1']);
    await using proxy = await CuttingProxy.open(server.url);
    await using client = await connect(proxy.url);
    await using child = await client.start({
      argv: [process.execPath, '-e', listener, '127.0.0.1'],
      env,
      io: openPipe,
      id: 'web',
    });
    const port = await portPrinted(child);
    const events = client.portEvents();
    assert.deepEqual(await nextOf(events), ['opened', port, 'web']);
    const unblock = proxy.block();
    await using other = await connect(server.url);
    const { processes } = { processes: await other.list({ scope: 'all' }) };
    const status = processes.find(({ processId }) => processId === 'web');
    await using handle = await other.attach('web', {
      role: 'drive',
      ...(status?.sessionId === undefined ? {} : { sessionId: status.sessionId }),
    });
    await handle.write('stop\n');
    await handle.exit;
    unblock();
    assert.deepEqual(await nextOf(events), ['closed', port, 'web']);
    await events.return(undefined);
  });

  test('end with the client', async () => {
    const client = connectInProcess();
    const events = client.portEvents();
    const next = events.next();
    await eventually(async () => void (await client.ports()));
    await client.close();
    assert.equal((await next).done, true);
  });

  test('are read from the list of the kernel', () => {
    const text = [
      '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
      '   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0',
      '   1: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0000000000000000 20 4 30 10 -1',
      '   2: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0',
      '',
    ].join('\n');
    assert.deepEqual(parseTable(text), [
      { address: '127.0.0.1', port: 8080, inode: '4711' },
      { address: '::1', port: 80, inode: '4713' },
    ]);
  });
});

async function nextOf(events: AsyncGenerator<PortEvent>): Promise<unknown[]> {
  const next = await events.next();
  return next.done === true ? [] : [next.value.type, next.value.port, next.value.processId];
}

async function portPrinted(child: Awaited<ReturnType<Client['start']>>): Promise<number> {
  for await (const { text } of child.lines()) return Number(text);
  return assert.fail('it printed no port');
}
