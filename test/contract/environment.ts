// What a command inherits, for every call of the library that starts one.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Client, ExecOptions } from '#src/client/index.js';
import type { EnvPolicy } from '#src/protocol/index.js';
import { type Connector, bothKinds } from './connector.js';

/** As listed in docs/protocol.md. */
const coreNames = ['PATH', 'SHELL', 'TMPDIR', 'TEMP', 'TMP', 'HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'LOGNAME', 'USER'];

/** Their values on the server, which has the variables of this program. */
const core = coreNames.flatMap((name) => (process.env[name] === undefined ? [] : [`${name}=${process.env[name]}`]));

interface Environment {
  readonly env?: Readonly<Record<string, string>>;
  readonly envPolicy?: EnvPolicy;
}

type Print = (client: Client, environment: Environment) => Promise<string>;

/** Each returns the printed environment of its command. */
const calls: Readonly<Record<string, Print>> = {
  run: async (client, environment) => (await client.run(['env'], environment)).stdout.text,
  exec: async (client, environment) => (await client.exec(['env'], environment)).stdout,
  start: async (client, environment) => {
    await using child = await client.start({ argv: ['env'], ...environment });
    return (await child.collectUntil({ deadlineMs: 20_000 })).text;
  },
};

/** Without NODE_V8_COVERAGE, which Node's own spawn adds to every environment while coverage is measured. */
function variables(printed: string): string[] {
  return printed
    .split(/\r?\n/)
    .filter((variable) => variable !== '' && !variable.startsWith('NODE_V8_COVERAGE='))
    .toSorted();
}

export function environmentContract(connector: Connector): void {
  describe('the environment of a command', () => {
    for (const [name, print] of Object.entries(calls)) {
      test(`has the server’s core variables and no others, started by ${name}`, async () => {
        await using client = await connector.connect();
        assert.ok(core.length > 0 && core.length < Object.keys(process.env).length);
        assert.deepEqual(variables(await print(client, {})), core.toSorted());
      });

      test(`has the caller’s variables in addition, which override them, started by ${name}`, async () => {
        await using client = await connector.connect();
        const env = { HOME: '/elsewhere', MORE: '1' };
        const others = core.filter((variable) => !variable.startsWith('HOME='));
        assert.deepEqual(variables(await print(client, { env })), [...others, 'HOME=/elsewhere', 'MORE=1'].toSorted());
      });

      test(`follows the caller’s policy, started by ${name}`, async () => {
        await using client = await connector.connect();
        const envPolicy: EnvPolicy = { inherit: 'core', exclude: ['*'], set: { ADDED: 'yes', PATH: '/usr/bin:/bin' } };
        assert.deepEqual(variables(await print(client, { envPolicy, env: { LAST: 'word' } })), [
          'ADDED=yes',
          'LAST=word',
          'PATH=/usr/bin:/bin',
        ]);
      });

      test(`has exactly the caller’s variables when nothing is inherited, started by ${name}`, async () => {
        await using client = await connector.connect();
        const env = { PATH: '/usr/bin:/bin', EMPTY: '' };
        const printed = await print(client, { envPolicy: { inherit: 'none' }, env });
        assert.deepEqual(variables(printed), ['EMPTY=', 'PATH=/usr/bin:/bin']);
      });
    }

    test('has exactly the caller’s variables on either kind of I/O', async () => {
      await using client = await connector.connect();
      const exact = { env: { ONLY: 'this', EMPTY: '' }, envPolicy: { inherit: 'none' } } as const;
      for (const [, io] of bothKinds) {
        const result = await client.run(['/usr/bin/env'], { cwd: '/', ...exact, io });
        assert.deepEqual(variables(result.stdout.text), ['EMPTY=', 'ONLY=this']);
      }
    });

    test('lacks the variables that a one-shot command unsets', async () => {
      await using client = await connector.connect();
      const unset: ExecOptions['env'] = Object.fromEntries(coreNames.map((name) => [name, null]));
      const { stdout } = await client.exec(['/usr/bin/env'], { env: { ...unset, ONLY: 'this' } });
      assert.deepEqual(variables(stdout), ['ONLY=this']);
    });
  });
}
