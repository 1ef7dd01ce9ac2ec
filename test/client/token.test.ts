// A token that expires while its client is connected: the client asks for a new one after a 401, and gives up if it gets the same one.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { connectWebSocket } from '#src/client/index.js';
import { connect } from '#src/index.js';
import { WebSocket } from 'ws';
import { hs256, scratchFolder, secret } from '../server/auth-tokens.js';
import { collect, ended, startSluice } from '../support/cli.js';
import { CuttingProxy } from '../support/cutting-proxy.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { TimedServer } from '../support/timed-server.js';

const env = { PATH: process.env['PATH'] ?? '' };

/** Longer than any test waits, so that a client that keeps trying makes its test time out. */
const timeouts = { reconnectMs: 10 * 60_000 };

/** A server that accepts JWTs, behind a proxy that can cut connections. Only the test advances the time. */
async function serve() {
  const folder = scratchFolder();
  const key = { algorithm: 'HS256', secretFile: folder.write('secret', secret) } as const;
  const server = await TimedServer.start({ kind: 'jwt', key, issuer: undefined, audience: undefined, skewSeconds: 0 });
  const proxy = await CuttingProxy.open(server.url);
  return {
    folder,
    url: proxy.url,
    /** Valid for one minute. */
    jwt: () => hs256({ claims: { exp: server.clock.now() / 1_000 + 60 } }),
    /** Lets every existing token expire, and cuts every connection. */
    async expireAndCut(next: () => void = () => {}) {
      await server.clock.advance(60_000);
      next();
      proxy.block()();
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

describe('a token', () => {
  guardAgainstLeaks();

  test('that has expired is requested again when the connection is cut, and the session continues', async () => {
    await using served = await serve();
    let asked = 0;
    const token = () => ((asked += 1), served.jwt());
    await using client = await connect(served.url, { token, timeouts });
    await using child = await client.start({ argv: ['cat'], env, io: { kind: 'pipe', stdin: 'open' } });
    await served.expireAndCut();
    await child.write('on');
    await child.closeStdin();
    let text = '';
    for await (const { bytes } of child.output) text += Buffer.from(bytes).toString();
    assert.equal(text, 'on');
    assert.equal(asked, 2);
  });

  test('that is the same when requested again ends the client at once, with the reason', async () => {
    await using served = await serve();
    const expiring = served.jwt();
    let asked = 0;
    await using client = await connect(served.url, { token: () => ((asked += 1), expiring), timeouts });
    await served.expireAndCut();
    assert.match((await client.ended) ?? '', /refused the connection: 401 the token has expired/);
    assert.equal(asked, 2);
  });

  test('that is a fixed string ends the client at once when it expires, with the reason', async () => {
    await using served = await serve();
    await using client = await connect(served.url, { token: served.jwt(), timeouts });
    await served.expireAndCut();
    assert.match((await client.ended) ?? '', /refused the connection: 401 the token has expired/);
  });

  test('that is refused on the first connection is requested once more, also from an async function', async () => {
    await using served = await serve();
    const tokens = ['nonsense', served.jwt()];
    await using client = await connect(served.url, { token: async () => tokens.shift() ?? assert.fail('asked too often') });
    assert.equal((await client.run(['echo', 'in'], { env })).stdout.text, 'in\n');
    const wrong = ['one', 'two'];
    await assert.rejects(connect(served.url, { token: () => wrong.shift() ?? assert.fail('asked too often') }), /401/);
    const sealed = () => Promise.reject(new Error('the vault is sealed'));
    await assert.rejects(connect(served.url, { token: sealed }), /the vault is sealed/);
  });

  test('that is not provided is waited for no longer than a connection', async () => {
    await using served = await serve();
    const never = new Promise<string>(() => {});
    const connecting = connect(served.url, { token: () => never, timeouts: { connectMs: 50 } });
    await assert.rejects(connecting, /no token within 50 ms/);
  });

  test('is requested for every connection in a browser, which does not report a 401', async () => {
    const world = globalThis as { WebSocket?: unknown };
    const own = world.WebSocket;
    world.WebSocket = WebSocket;
    try {
      await using served = await serve();
      await using client = await connectWebSocket(served.url, { token: () => served.jwt(), timeouts });
      await served.expireAndCut();
      assert.equal((await client.run(['echo', 'in'], { env })).stdout.text, 'in\n');
    } finally {
      world.WebSocket = own;
    }
  });

  test('in a file is read again by the command line program', async () => {
    await using served = await serve();
    const file = served.folder.write('token', served.jwt());
    const flags = ['--connect', served.url, '--token-file', file, '--reconnect', '10m'];
    const child = startSluice(['exec', ...flags, '--', 'sh', '-c', 'echo up; read -r line; echo "$line"']);
    const stdout = collect(child.stdout);
    await once(child.stdout, 'data');
    await served.expireAndCut(() => served.folder.write('token', `${served.jwt()}\n`));
    child.stdin.end('on\n');
    assert.equal(await ended(child), 0);
    if (!child.stdout.closed) await once(child.stdout, 'close');
    assert.equal(Buffer.concat(stdout).toString(), 'up\non\n');
  });

  test('in a file that has not changed ends the command line program at once, with the reason', async () => {
    await using served = await serve();
    const file = served.folder.write('token', served.jwt());
    const flags = ['--connect', served.url, '--token-file', file, '--reconnect', '10m'];
    const child = startSluice(['exec', ...flags, '--', 'sh', '-c', 'echo up; exec sleep 600']);
    const stderr = collect(child.stderr);
    await once(child.stdout, 'data');
    await served.expireAndCut();
    assert.equal(await ended(child), 125);
    assert.match(Buffer.concat(stderr).toString(), /^sluice: the server was lost \(.*401 the token has expired\); /);
  });
});
