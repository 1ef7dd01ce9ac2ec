// Which parameters process/start accepts, what they mean, and which contradictions are refused by name.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { asProcessId, isExecError } from '#src/protocol/index.js';
import type { PreparedSpec, SandboxContext, StartParams } from '#src/protocol/index.js';
import { processOptions } from '#src/server/start-request.js';

const surroundings = { cwd: '/srv', env: { PATH: '/bin', EDITOR: 'vi', API_KEY: 'k' } };
const allowAll = { allowDirectExec: true, allowPreparedExec: true };
const processId = asProcessId('p');

const prepared: PreparedSpec = {
  program: '/bin/echo',
  argv: ['echo', 'hi'],
  cwd: '/tmp',
  env: { A: '1' },
  io: { kind: 'pipe', stdin: 'open' },
};

/** Codex's rights for a process. */
function sandbox(permissions: SandboxContext['permissions']): SandboxContext {
  return { permissions, windowsSandboxLevel: 'disabled' };
}

function read(params: Omit<StartParams, 'processId'>, policy = allowAll) {
  return processOptions({ processId, ...params }, surroundings, policy);
}

/** A direct start with these details. */
const direct = (details: Omit<StartParams, 'processId' | 'argv'> = {}) => read({ argv: ['ls', '-l'], ...details });

/** The refusal as 'kind: text', or 'accepted'. */
function refusal(start: () => unknown): string {
  try {
    start();
  } catch (error) {
    if (isExecError(error, 'invalidParams') || isExecError(error, 'notEnforceable') || isExecError(error, 'execNotAllowed')) {
      return `${error.kind}: ${error.message}`;
    }
    throw error;
  }
  return 'accepted';
}

describe('a direct command', () => {
  test('needs only argv: defaults are the server’s working directory, an empty environment, and pipes with stdin closed', () => {
    assert.deepEqual(direct(), {
      id: 'p',
      spec: {
        program: { kind: 'lookup' },
        argv: ['ls', '-l'],
        cwd: '/srv',
        env: {},
        io: { kind: 'pipe', stdin: 'closed' },
        arg0: undefined,
      },
      timeoutMs: undefined,
      idleTimeoutMs: undefined,
      forceAfterMs: undefined,
      metadata: undefined,
    });
  });

  test('is the same when all other members are null', () => {
    const nothing = { cwd: null, env: null, envPolicy: null, io: null, tty: null, pipeStdin: null, arg0: null, prepared: null };
    const limits = { timeoutMs: null, idleTimeoutMs: null, metadata: null };
    const demands = { sandbox: null, networkProxy: null, managedNetwork: null, enforceManagedNetwork: null };
    assert.deepEqual(direct({ ...nothing, ...limits, ...demands }), direct());
  });

  test('keeps its name, limits and metadata, even if they are 0 or empty', () => {
    const { spec, ...rest } = direct({ arg0: '', timeoutMs: 0, idleTimeoutMs: 0, forceAfterMs: 0, metadata: {} });
    const expected = { id: 'p', timeoutMs: 0, idleTimeoutMs: 0, forceAfterMs: 0, metadata: {} };
    assert.deepEqual([spec.arg0, rest], ['', expected]);
  });

  test('without a policy has exactly the environment it names', () => {
    assert.deepEqual(direct({ env: { ONLY: 'this' } }).spec.env, { ONLY: 'this' });
  });

  test('with a policy inherits from the server', () => {
    assert.deepEqual(direct({ env: { MORE: '1' }, envPolicy: { inherit: 'all' } }).spec.env, {
      PATH: '/bin',
      EDITOR: 'vi',
      MORE: '1',
    });
  });

  test('without argv is refused', () => {
    assert.deepEqual(
      [undefined, null, []].map((argv) => refusal(() => read({ argv }))),
      Array(3).fill('invalidParams: argv must not be empty'),
    );
  });
});

describe('input and output', () => {
  const ioOf = (details: Pick<StartParams, 'io' | 'tty' | 'pipeStdin'>) => direct(details).spec.io;
  const closed = { kind: 'pipe', stdin: 'closed' } as const;
  const open = { kind: 'pipe', stdin: 'open' } as const;
  const terminal = { kind: 'pty', rows: 24, cols: 80 } as const;
  const large = { kind: 'pty', rows: 50, cols: 132 } as const;

  test('follow tty and pipeStdin when io is absent; a terminal always has stdin', () => {
    assert.deepEqual([{ tty: false }, { pipeStdin: false }, { pipeStdin: true }, { tty: false, pipeStdin: true }].map(ioOf), [
      closed,
      closed,
      open,
      open,
    ]);
    assert.deepEqual([{ tty: true }, { tty: true, pipeStdin: true }, { tty: true, pipeStdin: false }].map(ioOf), [
      terminal,
      terminal,
      terminal,
    ]);
  });

  test('follow io when it is present, and tty and pipeStdin may repeat it', () => {
    assert.deepEqual(
      [{ io: large }, { io: large, tty: true }, { io: large, pipeStdin: true }, { io: open, tty: false, pipeStdin: true }].map(
        ioOf,
      ),
      [large, large, large, open],
    );
    assert.deepEqual(ioOf({ io: closed, pipeStdin: false }), closed);
  });

  test('that contradict each other are refused', () => {
    const contradictions = [
      { io: large, tty: false },
      { io: open, tty: true },
      { io: closed, pipeStdin: true },
      { io: open, pipeStdin: false },
    ];
    assert.deepEqual(
      contradictions.map((details) => refusal(() => ioOf(details))),
      [
        'invalidParams: tty false and io.kind "pty" contradict each other',
        'invalidParams: tty true and io.kind "pipe" contradict each other',
        'invalidParams: pipeStdin true and io.stdin "closed" contradict each other',
        'invalidParams: pipeStdin false and io.stdin "open" contradict each other',
      ],
    );
  });
});

describe('the working directory', () => {
  const folderOf = (cwd: string) => direct({ cwd }).spec.cwd;

  test('is an absolute path, taken unchanged', () => {
    assert.deepEqual(['/', '/a b/%20', '/a/../b'].map(folderOf), ['/', '/a b/%20', '/a/../b']);
  });

  test('is the path of a file URI, in any spelling of the scheme, on this host', () => {
    const uris = ['file:///tmp/a%20b', 'file:///%E2%82%AC', 'file:/tmp', 'FILE:///tmp', 'file://localhost/tmp'];
    assert.deepEqual(uris.map(folderOf), ['/tmp/a b', '/€', '/tmp', '/tmp', '/tmp']);
  });

  test('cannot be relative, of another scheme, or empty', () => {
    const folders = ['src', './src', 'file:src', 'file:../src', 'https://host/x', 'C:\\x', ''];
    assert.deepEqual(
      folders.map((cwd) => refusal(() => folderOf(cwd))),
      folders.map((cwd) => `invalidParams: cwd must be an absolute path or a file:/ URI, got ${JSON.stringify(cwd)}`),
    );
  });

  test('cannot be a file URI that is on another host, has a slash inside a name, or is malformed', () => {
    const uris = ['file://host/x', 'file:///a%2Fb', 'file:///%zz', 'file://[/x'];
    assert.deepEqual(
      uris.map((cwd) => refusal(() => folderOf(cwd))),
      uris.map((cwd) => `invalidParams: cwd URI "${cwd}" is not a path on this machine`),
    );
  });
});

describe('a prepared command', () => {
  test('is taken exactly as given', () => {
    assert.deepEqual(read({ prepared, timeoutMs: 5 }), {
      id: 'p',
      spec: {
        program: { kind: 'exact', path: '/bin/echo' },
        argv: ['echo', 'hi'],
        cwd: '/tmp',
        env: { A: '1' },
        io: { kind: 'pipe', stdin: 'open' },
        arg0: undefined,
      },
      timeoutMs: 5,
      idleTimeoutMs: undefined,
      forceAfterMs: undefined,
      metadata: undefined,
    });
  });

  test('may name its working directory by a file URI', () => {
    assert.equal(read({ prepared: { ...prepared, cwd: 'file:///srv/x' } }).spec.cwd, '/srv/x');
  });

  test('excludes every detail of a direct one, and the error names it', () => {
    const details = {
      argv: ['ls'],
      cwd: '/',
      env: {},
      envPolicy: { inherit: 'all' },
      io: { kind: 'pipe', stdin: 'closed' },
      tty: false,
      pipeStdin: false,
      arg0: '',
    } as const;
    const refusals = Object.entries(details).map(([name, value]) => refusal(() => read({ prepared, [name]: value })));
    assert.deepEqual(
      refusals,
      Object.keys(details).map((name) => `invalidParams: ${name} cannot be combined with prepared; put it inside prepared`),
    );
  });
});

describe('a demand that the server cannot enforce', () => {
  test('is refused by name', () => {
    const demands: readonly Omit<StartParams, 'processId' | 'argv'>[] = [
      { sandbox: sandbox({ type: 'managed', file_system: { type: 'unrestricted' }, network: 'restricted' }) },
      { sandbox: sandbox({ type: 'managed', file_system: { type: 'restricted', entries: [] }, network: 'enabled' }) },
      { networkProxy: 'x' },
      { managedNetwork: 0 },
      { enforceManagedNetwork: true },
    ];
    assert.deepEqual(
      demands.map((demand) => refusal(() => direct(demand))),
      ['sandbox', 'sandbox', 'networkProxy', 'managedNetwork', 'enforceManagedNetwork'].map(
        (name) => `notEnforceable: ${name} cannot be enforced by this server; leave it out to run without it`,
      ),
    );
  });

  test('is refused for a prepared command too', () => {
    assert.match(
      refusal(() => read({ prepared, networkProxy: {} })),
      /^notEnforceable: networkProxy /,
    );
  });

  test('may be declined', () => {
    const unconfined = [
      sandbox({ type: 'disabled' }),
      sandbox({ type: 'external', network: 'restricted' }),
      sandbox({ type: 'managed', file_system: { type: 'unrestricted' }, network: 'enabled' }),
    ];
    for (const each of unconfined) assert.deepEqual(direct({ sandbox: each }), direct());
    assert.deepEqual(direct({ enforceManagedNetwork: false }), direct());
  });
});

describe('the policy', () => {
  const policies = [
    { allowDirectExec: true, allowPreparedExec: false },
    { allowDirectExec: false, allowPreparedExec: true },
  ];

  test('admits only the kinds of command it allows', () => {
    assert.deepEqual(
      policies.map((policy) => [refusal(() => read({ argv: ['ls'] }, policy)), refusal(() => read({ prepared }, policy))]),
      [
        ['accepted', 'execNotAllowed: this server does not allow prepared commands'],
        ['execNotAllowed: this server does not allow direct commands', 'accepted'],
      ],
    );
  });
});
