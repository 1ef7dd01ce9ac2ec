// The Codex dialect on the wire: what a client of the prototype or of the latest release sends and expects.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type RawPeer, errorOf, paramsOf, resultOf } from '../support/raw-peer.js';

const env = { PATH: process.env['PATH'] ?? '' };
const shell = (script: string, more: object = {}) => ({ argv: ['sh', '-c', script], cwd: '/tmp', env, tty: false, ...more });

export function dialect(name: string, open: () => Promise<RawPeer>): void {
  describe(`the dialect over ${name}`, () => {
    test('the reply to initialize has everything that either kind of client expects', async () => {
      await using peer = await open();
      const result = resultOf(await peer.request('initialize', { clientName: 'test', resumeSessionId: null }));
      assert.equal(result['protocolVersion'], 'exec-server.v0');
      assert.match(String(result['sessionId']), /^[0-9a-f-]{36}$/);
      const info = result['environmentInfo'] as Record<string, unknown>;
      assert.deepEqual(Object.keys(info).includes('shell') && String(info['cwd']).startsWith('file://'), true);
    });

    test('methods before initialize and before initialized are refused with Codex’s messages', async () => {
      await using peer = await open();
      const early = errorOf(await peer.request('process/read', { processId: 'x' }));
      assert.deepEqual([early.code, early.message], [-32600, 'client must call initialize before using exec methods']);
      await peer.request('initialize', { clientName: 'test' });
      const soon = errorOf(await peer.request('environment/status'));
      assert.deepEqual(
        [soon.code, soon.message],
        [-32600, 'client must send initialized before using environment status methods'],
      );
    });

    test('a failed initialize may be retried, a successful one not repeated', async () => {
      await using peer = await open();
      assert.equal(errorOf(await peer.request('initialize')).code, -32602);
      assert.match(errorOf(await peer.request('initialize', {})).message, /clientName/);
      resultOf(await peer.request('initialize', { clientName: 'test' }));
      const again = errorOf(await peer.request('initialize', { clientName: 'test' }));
      assert.deepEqual([again.code, again.message], [-32600, 'initialize may only be sent once per connection']);
    });

    test('a malformed message is answered with id -1, and the connection stays open', async () => {
      await using peer = await open();
      await peer.greet();
      const junk = [
        'not json',
        '[]',
        '"text"',
        '{}',
        '{"id":null,"method":"environment/status"}',
        '{"id":1.5,"method":"x"}',
        '{"method":7}',
      ];
      for (const [index, text] of junk.entries()) {
        peer.send(text);
        const refusals = () => peer.messages.filter(({ id }) => id === -1).length;
        await peer.find(() => refusals() > index, `refusal of ${text}`);
      }
      assert.ok(peer.messages.filter(({ id }) => id === -1).every((message) => errorOf(message).code === -32600));
      assert.deepEqual(resultOf(await peer.request('environment/status')), { status: 'ready' });
    });

    test('unknown methods fail with -32601, unexpected notifications are answered, unknown members are ignored', async () => {
      await using peer = await open();
      await peer.greet();
      assert.equal(errorOf(await peer.request('fs/rename', { path: 'file:///x' })).code, -32601);
      peer.send('{"method":"no/such","params":{}}');
      assert.equal(errorOf(await peer.reply(-1)).code, -32600);
      resultOf(await peer.request('process/start', { processId: 'p', ...shell('exit 0'), brandNew: { a: 1 } }));
    });

    test('ids of any allowed kind are echoed, including 0 and the empty string', async () => {
      await using peer = await open();
      await peer.greet();
      for (const id of [0, -5, '', 'text', 2 ** 53 - 1]) {
        assert.deepEqual(resultOf(await peer.requestAs(id, 'environment/status')), { status: 'ready' });
      }
      peer.send('{"jsonrpc":"2.0","id":"with","method":"environment/status"}');
      assert.equal('jsonrpc' in (await peer.reply('with')), false);
    });

    test('64-bit integer ids are echoed digit for digit, in results and in errors', async () => {
      await using peer = await open();
      await peer.greet();
      for (const id of ['9223372036854775807', '-9223372036854775808', '9007199254740993', '18446744073709551615']) {
        peer.messages.length = 0;
        peer.send(`{"id":${id},"method":"environment/status"}`);
        await peer.find(({ result }) => result !== undefined, `a result for ${id}`);
        assert.equal(peer.lastText, `{"id":${id},"result":{"status":"ready"}}`);
        peer.send(`{"id":${id},"method":"no/such"}`);
        await peer.find(({ error }) => error !== undefined, `an error for ${id}`);
        assert.ok(peer.lastText.startsWith(`{"id":${id},"error":{"code":-32601,`), peer.lastText);
      }
      await peer.request('process/start', { processId: 'p', ...shell('printf hi') });
      await peer.notification('process/closed', 'p');
      peer.send('{"id":9223372036854775807,"method":"process/read","params":{"processId":"p"}}');
      await peer.find(({ result }) => Array.isArray((result as { chunks?: unknown } | undefined)?.chunks), 'a page');
      assert.ok(peer.lastText.startsWith('{"id":9223372036854775807,"result":{"chunks":[{"seq":1,'), peer.lastText);
    });

    test('initialized may be sent twice', async () => {
      await using peer = await open();
      await peer.greet();
      peer.send('{"method":"initialized","params":{}}');
      assert.deepEqual(resultOf(await peer.request('environment/status')), { status: 'ready' });
      assert.deepEqual(
        peer.messages.filter(({ error }) => error !== undefined),
        [],
      );
    });

    test('the largest 64-bit number means no limit', async () => {
      await using peer = await open();
      await peer.greet();
      const most = '18446744073709551615';
      const ask = async (id: string, method: string, params: string) => {
        peer.send(`{"id":"${id}","method":"${method}","params":{${params}}}`);
        return resultOf(await peer.reply(id));
      };
      const started = JSON.stringify(shell('printf one; exit 0')).slice(1, -1);
      await ask('start', 'process/start', `"processId":"p",${started},"timeoutMs":${most},"idleTimeoutMs":${most}`);
      const { ending } = await ask('wait', 'process/wait', `"processId":"p","timeoutMs":${most},"until":"closed"`);
      assert.equal((ending as { reason: string }).reason, 'exited');
      const page = await ask('read', 'process/read', `"processId":"p","maxBytes":${most},"waitMs":${most}`);
      assert.deepEqual(page['chunks'], [{ seq: 1, stream: 'stdout', chunk: 'b25l' }]);
      const after = await ask('after', 'process/read', `"processId":"p","afterSeq":${most}`);
      assert.deepEqual([after['chunks'], after['closed']], [[], true]);
      const command = '"command":["printf","two"]';
      const { stdout } = await ask('exec', 'command/exec', `${command},"outputBytesCap":${most},"timeoutMs":${most}`);
      assert.equal(stdout, 'two');
    });

    test('the reply to a start is sent first, seq counts from 1 without gaps, and closed is last', async () => {
      await using peer = await open();
      await peer.greet();
      for (let run = 0; run < 20; run += 1) {
        const processId = `p${run}`;
        const started = await peer.request('process/start', { processId, ...shell('echo out; echo err >&2; exit 3') });
        assert.equal(resultOf(started)['processId'], processId);
        await peer.notification('process/closed', processId);
        const about = peer.messages.filter((message) => message === started || paramsOf(message)['processId'] === processId);
        assert.equal(about[0], started);
        assert.deepEqual(
          about.slice(1).map((message) => paramsOf(message)['seq']),
          about.slice(1).map((_, index) => index + 1),
        );
        assert.deepEqual(
          about.slice(-2).map(({ method }) => method),
          ['process/exited', 'process/closed'],
        );
        assert.equal(paramsOf(about.at(-2) ?? assert.fail())['exitCode'], 3);
      }
    });

    test('cwd is a path or a file URI; anything else is refused with its value', async () => {
      await using peer = await open();
      await peer.greet();
      for (const [index, cwd] of ['/tmp', 'file:///tmp'].entries()) {
        const processId = `p${index}`;
        resultOf(await peer.request('process/start', { processId, argv: ['/bin/pwd'], cwd, env: {} }));
        await peer.notification('process/closed', processId);
        assert.equal(peer.outputOf(processId), '/tmp\n');
      }
      for (const cwd of ['relative', 'http://host/x', 'file://elsewhere/x']) {
        const error = errorOf(await peer.request('process/start', { processId: 'bad', argv: ['true'], cwd, env: {} }));
        assert.deepEqual([error.code, error.message.includes(cwd)], [-32602, true]);
      }
    });

    test('names that are unsafe as object keys are refused, not dropped', async () => {
      await using peer = await open();
      await peer.greet();
      for (const unusable of ['__proto__', 'prototype', 'constructor']) {
        for (const params of [
          `"argv":["true"],"env":{"${unusable}":"x"}`,
          `"argv":["true"],"envPolicy":{"inherit":"none","set":{"${unusable}":"x"}}`,
          `"argv":["true"],"metadata":{"${unusable}":1}`,
        ]) {
          peer.send(`{"id":"${unusable}","method":"process/start","params":{"processId":"p",${params}}}`);
          const { code, message } = errorOf(await peer.reply(unusable));
          assert.deepEqual([code, message.includes(unusable)], [-32602, true], params);
          peer.messages.length = 0;
        }
      }
    });

    test('a list in place of an object is refused with its path, and nothing is started', async () => {
      await using peer = await open();
      const greeting = errorOf(await peer.request('initialize', { clientName: 'raw', resumeSessionId: null, cursors: [1] }));
      assert.deepEqual([greeting.code, greeting.message], [-32602, 'cursors: expected an object of numbers, got [1]']);
      await peer.greet();
      const prepared = { program: '/bin/true', argv: ['true'], cwd: '/', env: ['A=B'], io: { kind: 'pipe', stdin: 'closed' } };
      for (const [problem, params] of [
        ['env: expected an object of strings, got ["A=B"]', { argv: ['env'], env: ['A=B'] }],
        ['env: expected an object of strings, got []', { argv: ['env'], env: [] }],
        [
          'envPolicy.set: expected an object of strings, got ["A=B"]',
          { argv: ['env'], envPolicy: { inherit: 'none', set: ['A=B'] } },
        ],
        ['metadata: expected an object, got ["note"]', { argv: ['env'], env: {}, metadata: ['note'] }],
        ['prepared.env: expected an object of strings, got ["A=B"]', { prepared }],
      ] as const) {
        const { code, message } = errorOf(await peer.request('process/start', { processId: 'p', ...params }));
        assert.deepEqual([code, message], [-32602, problem]);
      }
      const command = errorOf(await peer.request('command/exec', { command: ['env'], env: ['A=B'] }));
      assert.deepEqual([command.code, command.message], [-32602, 'env: expected an object of strings or nulls, got ["A=B"]']);
      assert.equal(errorOf(await peer.request('process/list', ['all'])).code, -32602);
      assert.deepEqual(resultOf(await peer.request('process/list')), { processes: [] });
    });

    test('reads page through retained output and wait on request', async () => {
      await using peer = await open();
      await peer.greet();
      await peer.request('process/start', { processId: 'p', ...shell('echo one; read -r _; echo two', { pipeStdin: true }) });
      await peer.notification('process/output', 'p');
      const waiting = peer.request('process/read', { processId: 'p', afterSeq: 1, waitMs: 60_000 });
      const write = resultOf(await peer.request('process/write', { processId: 'p', chunk: 'Cg==', writeId: '1' }));
      assert.deepEqual(write, { accepted: true, status: 'accepted' });
      const page = resultOf(await waiting);
      assert.deepEqual(page['chunks'], [{ seq: 2, stream: 'stdout', chunk: Buffer.from('two\n').toString('base64') }]);
      await peer.notification('process/closed', 'p');
      const { chunks: _, ...rest } = resultOf(
        await peer.request('process/read', { processId: 'p', afterSeq: 99, maxBytes: null, waitMs: null }),
      );
      const closed = {
        nextSeq: 5,
        nextBytes: 8,
        droppedBytes: 0,
        exited: true,
        exitCode: 0,
        closed: true,
        failure: null,
        sandboxDenied: false,
      };
      assert.deepEqual(rest, closed);
    });

    test('a snapshot shows whether the process is running, and how it ended', async () => {
      await using peer = await open();
      await peer.greet();
      const facts = async (processId: string) => {
        const { running, exitCode, signal } = resultOf(await peer.request('process/snapshot', { processId }));
        return [running, exitCode, signal];
      };
      await peer.request('process/start', { processId: 'p', ...shell('read -r _; exit 3', { pipeStdin: true }) });
      assert.deepEqual(await facts('p'), [true, null, undefined]);
      await peer.request('process/write', { processId: 'p', chunk: 'Cg==' });
      await peer.notification('process/exited', 'p');
      assert.deepEqual(await facts('p'), [false, 3, undefined]);
      await peer.request('process/start', { processId: 'q', ...shell('kill -9 $$') });
      await peer.notification('process/exited', 'q');
      assert.deepEqual(await facts('q'), [false, 137, 'SIGKILL']);
    });

    test('a long poll delays neither environment/status nor terminate', async () => {
      await using peer = await open();
      await peer.greet();
      await peer.request('process/start', { processId: 'p', ...shell('sleep 60') });
      const polls = Array.from({ length: 32 }, () => peer.request('process/read', { processId: 'p', waitMs: 600_000 }));
      assert.deepEqual(resultOf(await peer.request('environment/status')), { status: 'ready' });
      assert.deepEqual(resultOf(await peer.request('process/terminate', { processId: 'p' })), { running: true });
      for (const page of await Promise.all(polls)) assert.equal(resultOf(page)['exited'], true);
    });

    test('invalid requests fail with Codex’s codes', async () => {
      await using peer = await open();
      await peer.greet();
      await peer.request('process/start', { processId: 'p', ...shell('sleep 60') });
      const code = async (method: string, params: object) => errorOf(await peer.request(method, params)).code;
      assert.equal(await code('process/start', { processId: 'p', ...shell('true') }), -32600);
      assert.equal(await code('process/start', { processId: 'q', argv: [], cwd: '/', env: {} }), -32602);
      assert.equal(await code('process/start', { processId: 'q', argv: ['no-such-program'], cwd: '/', env: {} }), -32603);
      assert.equal(await code('process/start', { processId: 'q', argv: 'sh', cwd: '/', env: {} }), -32602);
      assert.equal(await code('process/start', { processId: 'q', ...shell('true'), sandbox: {} }), -32602);
      assert.equal(await code('process/start', { processId: 'q', ...shell('true'), enforceManagedNetwork: true }), -32602);
      assert.equal(await code('process/read', { processId: 'unknown' }), -32600);
      assert.equal(await code('process/read', { processId: 'p', afterSeq: -1 }), -32602);
      assert.equal(await code('process/write', { processId: 'p', chunk: '*', writeId: '1' }), -32602);
      assert.equal(await code('process/write', { processId: 'p', chunk: 'aGl=', writeId: '1' }), -32602);
      assert.equal(await code('process/write', { processId: 'p', chunk: '', writeId: '' }), -32602);
      assert.equal(await code('process/signal', { processId: 'p', signal: 'nothing' }), -32602);
      const status = async (params: object) => resultOf(await peer.request('process/write', params))['status'];
      assert.equal(await status({ processId: 'unknown', chunk: '', writeId: '1' }), 'unknownProcess');
      assert.equal(await status({ processId: 'p', chunk: '', writeId: '1' }), 'stdinClosed');
      assert.deepEqual(resultOf(await peer.request('process/signal', { processId: 'unknown', signal: 'interrupt' })), {
        delivered: false,
      });
      assert.deepEqual(resultOf(await peer.request('process/terminate', { processId: 'unknown' })), { running: false });
    });

    test('interrupt ends a process with 130 on pipes and on terminals', async () => {
      await using peer = await open();
      await peer.greet();
      for (const tty of [false, true]) {
        const processId = `tty-${tty}`;
        await peer.request('process/start', { processId, ...shell('echo ready; exec sleep 60', { tty }) });
        await peer.notification('process/output', processId);
        await peer.request('process/signal', { processId, signal: 'interrupt' });
        const exited = paramsOf(await peer.notification('process/exited', processId));
        assert.deepEqual([exited['exitCode'], exited['signal']], [130, 'SIGINT']);
      }
    });

    test('messages that are too deep or have too many values are refused, and the connection stays open', async () => {
      await using peer = await open();
      await peer.greet();
      peer.send(`{"id":7,"method":"environment/status","params":${'['.repeat(5_000)}${']'.repeat(5_000)}}`);
      await peer.find(({ id, error }) => id === -1 && JSON.stringify(error).includes('deeper'), 'a refusal of depth');
      peer.send(`{"id":8,"method":"environment/status","params":[${'0,'.repeat(300_000)}0]}`);
      await peer.find(({ id, error }) => id === -1 && JSON.stringify(error).includes('values'), 'a refusal of width');
      assert.deepEqual(resultOf(await peer.request('environment/status')), { status: 'ready' });
    });

    test('the worked example of the prototype gets its documented replies', async () => {
      await using peer = await open();
      const script = `printf 'ready\\n'; while IFS= read -r line; do printf 'echo:%s\\n' "$line"; done`;
      const replyTo = async (text: string) => {
        peer.send(text);
        return resultOf(await peer.reply((JSON.parse(text) as { id: number }).id));
      };
      const hello = await replyTo('{"id":1,"method":"initialize","params":{"clientName":"example-client"}}');
      assert.equal(hello['protocolVersion'], 'exec-server.v0');
      peer.send('{"method":"initialized","params":{}}');
      const start = {
        processId: 'proc-1',
        argv: ['bash', '-lc', script],
        cwd: '/tmp',
        env: { PATH: '/usr/bin:/bin' },
        tty: true,
        arg0: null,
      };
      assert.equal((await replyTo(JSON.stringify({ id: 2, method: 'process/start', params: start })))['processId'], 'proc-1');
      await peer.find(() => peer.outputOf('proc-1').includes('ready\r\n'), 'ready');
      const write = await replyTo('{"id":3,"method":"process/write","params":{"processId":"proc-1","chunk":"aGVsbG8K"}}');
      assert.equal(write['accepted'], true);
      await peer.find(() => peer.outputOf('proc-1').includes('echo:hello\r\n'), 'echo:hello');
      assert.equal((await replyTo('{"id":4,"method":"process/terminate","params":{"processId":"proc-1"}}'))['running'], true);
      await peer.notification('process/exited', 'proc-1');
    });
  });
}
