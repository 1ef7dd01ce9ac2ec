// Channels over streams and sockets whose peer misbehaves: resets, never reads, never ends, or is gone.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Socket, connect, createServer } from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { StreamChannel } from '#src/transport/stream-channel.js';
import { eventually } from '../support/eventually.js';
import { FakeClock } from '../support/fake-clock.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { record } from './channel-contract.js';

guardAgainstLeaks();

const maxMessageBytes = 1024;

describe('a peer', () => {
  test('that ends its side ends the channel; its last line may lack a line feed, and answers to it are still sent', async () => {
    await using pair = await rawPair();
    const { channel, raw } = pair;
    channel.listen({ message: (text) => channel.send(`[${text}]`), binary() {}, unreadable() {} });
    const received = textFrom(raw);
    raw.end('1\n2');
    assert.deepEqual(await channel.closed, {});
    assert.equal(await received, '[1]\n[2]\n');
  });

  test('that sends too long a line can continue with the next', async () => {
    await using pair = await rawPair();
    const recorder = record(pair.channel);
    pair.raw.end(`${'x'.repeat(5_000)}\n"next"\n`);
    await pair.channel.closed;
    assert.deepEqual(recorder.arrivals, [{ unreadable: 'a line is longer than the 1024 bytes allowed' }, '"next"']);
  });

  test('that resets in the middle of a frame ends the channel with a problem', async () => {
    await using pair = await rawPair();
    const recorder = record(pair.channel);
    pair.raw.write(Buffer.concat([Buffer.from('{}\n'), Uint8Array.of(0x01, 0, 0, 1, 0, 42)]));
    await eventually(() => assert.deepEqual(recorder.arrivals, ['{}']));
    pair.raw.resetAndDestroy();
    assert.deepEqual(await pair.channel.closed, { problem: 'read ECONNRESET' });
    assert.deepEqual(recorder.arrivals, ['{}']);
    assert.equal(pair.channel.send('{}'), false);
  });

  test('that has gone when something is sent ends the channel with a problem', async () => {
    await using pair = await rawPair();
    record(pair.channel);
    pair.channel.pause(); // so that only sending can notice
    pair.raw.resetAndDestroy();
    await eventually(() => assert.equal(pair.channel.send('{}'), false));
    const { problem } = await pair.channel.closed;
    assert.match(problem ?? '', /EPIPE|ECONNRESET/);
  });

  test('that never reads what was sent is given up on when the channel closes', async () => {
    await using pair = await rawPair();
    pair.raw.pause();
    record(pair.channel);
    while (pair.channel.send('x'.repeat(100_000)));
    pair.channel.close();
    await pair.clock.advance(4_999);
    assert.deepEqual(pair.clock.pendingMs, [1]);
    await pair.clock.advance(1);
    assert.deepEqual(await pair.channel.closed, { problem: 'the peer did not read everything that was sent before the close' });
  });

  test('that never ends its own side is given up on without a problem, since it has received everything', async () => {
    await using pair = await rawPair({ allowHalfOpen: true });
    record(pair.channel);
    const ended = once(pair.raw.resume(), 'end');
    pair.channel.send('{}');
    pair.channel.close();
    await ended;
    await eventually(() => assert.deepEqual(pair.clock.pendingMs, [1_000]));
    await pair.clock.advance(1_000);
    assert.deepEqual(await pair.channel.closed, {});
  });

  test('that is still sending when the channel closes gets everything and sees a normal end', async () => {
    await using pair = await rawPair();
    record(pair.channel);
    const received = textFrom(pair.raw);
    const errors: Error[] = [];
    pair.raw.on('error', (error) => errors.push(error));
    pair.raw.write('{}\n'.repeat(100_000));
    pair.channel.send('"last words"');
    pair.channel.close();
    assert.equal(await received, '"last words"\n');
    assert.deepEqual(errors, []);
    assert.deepEqual(await pair.channel.closed, {});
  });
});

describe('a child', () => {
  test('that has died is read to the end, though it can no longer be written to', async () => {
    const child = spawn('sh', ['-c', 'exec <&-; echo \'"ready"\'; read -r _ <&3; echo \'"last words"\''], {
      stdio: ['pipe', 'pipe', 'ignore', 'pipe'],
    });
    const { stdout, stdin } = child;
    assert.ok(stdout !== null && stdin !== null);
    const channel = new StreamChannel({ readable: stdout, writable: stdin, peer: 'child', maxMessageBytes });
    const recorder = record(channel);
    await eventually(() => assert.deepEqual(recorder.arrivals, ['"ready"']));
    await eventually(() => assert.equal(channel.send('{}'), false));
    const [, , , gate] = child.stdio;
    assert.ok(gate !== null && gate !== undefined && 'end' in gate);
    gate.end('\n');
    assert.match((await channel.closed).problem ?? '', /EPIPE|ECONNRESET/);
    assert.deepEqual(recorder.arrivals, ['"ready"', '"last words"']);
    gate.destroy();
    await once(child, 'close');
  });

  test('sees the end of its input when the channel closes, and the channel waits for it to end', async () => {
    const child = spawn('cat', { stdio: ['pipe', 'pipe', 'ignore'] });
    const channel = new StreamChannel({ readable: child.stdout, writable: child.stdin, peer: 'cat', maxMessageBytes });
    const recorder = record(channel);
    channel.send('"echo"');
    await eventually(() => assert.deepEqual(recorder.arrivals, ['"echo"']));
    channel.close();
    assert.deepEqual(await channel.closed, {});
    await once(child, 'close');
    assert.equal(child.exitCode, 0);
  });
});

test('streams that other code destroys end the channel with a problem', async () => {
  const [readable, writable] = [new PassThrough(), new PassThrough()];
  const channel = new StreamChannel({ readable, writable, peer: 'test', maxMessageBytes });
  record(channel);
  readable.destroy();
  assert.deepEqual(await channel.closed, { problem: 'the connection was cut off' });
  assert.equal(writable.destroyed, true);
});

test('a channel that is destroyed ends at once with the first reason', async () => {
  await using pair = await rawPair();
  record(pair.channel);
  pair.channel.destroy('enough');
  pair.channel.destroy('more than enough');
  pair.channel.close('too late');
  assert.deepEqual(await pair.channel.closed, { problem: 'enough' });
});

interface RawPair extends AsyncDisposable {
  readonly channel: StreamChannel;
  /** The other end of its socket. */
  readonly raw: Socket;
  readonly clock: FakeClock;
}

/** Over TCP, which has resets. */
async function rawPair(options: { allowHalfOpen?: boolean } = {}): Promise<RawPair> {
  const server = createServer({ allowHalfOpen: true });
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const raw = connect({ ...(server.address() as { port: number }), ...options });
  await once(raw, 'connect');
  raw.on('error', () => {}); // the test checks the effect on the other side
  const [socket] = await accepted;
  server.close();
  const clock = new FakeClock();
  const channel = new StreamChannel({ readable: socket, writable: socket, peer: 'raw', maxMessageBytes, clock });
  return {
    channel,
    raw,
    clock,
    async [Symbol.asyncDispose]() {
      raw.destroy();
      channel.destroy('the test is over');
      await channel.closed;
    },
  };
}

async function textFrom(raw: Socket): Promise<string> {
  let text = '';
  raw.on('data', (bytes: Buffer) => (text += bytes.toString()));
  await once(raw, 'end');
  return text;
}
