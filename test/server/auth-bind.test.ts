// Where a server may listen without credentials.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { requireSafeBind } from '#src/server/auth/index.js';
import type { ListenEndpoint } from '#src/transport/endpoint.js';

describe('an address', () => {
  const open = { kind: 'none' } as const;
  const at = (address: string): ListenEndpoint => ({ kind: 'websocket', isSecure: false, host: address, port: 4500 });

  test('that only this machine can reach needs no credentials', () => {
    for (const address of ['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1', '::ffff:7f01:203'])
      requireSafeBind(at(address), open);
    requireSafeBind({ kind: 'unix', path: '/run/sluice.sock' }, open);
    requireSafeBind({ kind: 'stdio' }, open);
  });

  test('that other machines can reach needs credentials, and the one-line error names the flags to use', () => {
    for (const address of [
      '0.0.0.0',
      '::',
      '10.0.0.1',
      '192.168.1.1',
      'fe80::1',
      '::ffff:10.0.0.1',
      '::ffff:0:0',
      '::127.0.0.1',
      'localhost',
      '128.0.0.1',
    ]) {
      assert.throws(
        () => requireSafeBind(at(address), open),
        /^Error: refusing to listen on .* --token-file, --token-sha256, .*--jwt-.*$/,
        address,
      );
      requireSafeBind(at(address), { kind: 'tokens' });
    }
    assert.throws(() => requireSafeBind(at('::'), open), /ws:\/\/\[::\]:4500 .*or listen on ws:\/\/\[::1\]:4500$/);
  });
});
