// Which addresses callers may reach through the server, whatever a name resolves to.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isAnyExecError } from '#src/protocol/index.js';
import { resolveAllowed } from '#src/server/machine/network-rule.js';

/** The addresses to connect to, or the kind of the refusal. */
async function judge(
  host: string,
  hosts: readonly string[] = [],
  resolved: readonly string[] = [],
): Promise<readonly string[] | string> {
  try {
    return await resolveAllowed({ host, port: 80 }, { policy: { hosts }, resolve: async () => resolved });
  } catch (error) {
    return isAnyExecError(error) ? error.kind : assert.fail(String(error));
  }
}

describe('a destination', () => {
  test('on loopback may be reached', async () => {
    for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])
      assert.deepEqual(await judge(address), [address]);
    assert.deepEqual(await judge('localhost'), ['127.0.0.1', '::1']);
  });

  test('elsewhere may not', async () => {
    for (const address of ['0.0.0.0', '::', '10.0.0.1', '128.0.0.1', '::2', '::ffff:10.0.0.1', 'fe80::1']) {
      assert.equal(await judge(address), 'networkRefused', address);
    }
  });

  test('by name may be reached if all its addresses are loopback, and only at the addresses that were judged', async () => {
    assert.deepEqual(await judge('mine.test', [], ['127.0.0.1', '::1']), ['127.0.0.1', '::1']);
    assert.equal(await judge('rebinding.test', [], ['127.0.0.1', '10.0.0.1']), 'networkRefused');
    assert.equal(await judge('elsewhere.test', [], ['10.0.0.1']), 'networkRefused');
    assert.equal(await judge('nowhere.test', [], []), 'networkRefused');
  });

  test('that the operator has opened may be reached, at that port if one is given', async () => {
    assert.deepEqual(await judge('Open.Test', ['open.test'], ['10.0.0.1']), ['10.0.0.1']);
    assert.deepEqual(await judge('open.test', ['open.test:80'], ['10.0.0.1']), ['10.0.0.1']);
    assert.equal(await judge('open.test', ['open.test:81'], ['10.0.0.1']), 'networkRefused');
    assert.equal(await judge('sub.open.test', ['open.test'], ['10.0.0.1']), 'networkRefused');
    assert.deepEqual(await judge('10.0.0.1', ['10.0.0.1']), ['10.0.0.1']);
  });
});
