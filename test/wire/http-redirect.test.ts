// Redirects that a server follows for its callers.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import { errorOf, resultOf } from '../support/raw-peer.js';
import { type Answer, Website, bodyOf, echo } from './website.js';

describe('a redirect', () => {
  guardAgainstLeaks();

  const redirecting: Answer = (request, response) => {
    const [, status, target] = /^\/(\d+)-(.*)/.exec(request.url ?? '') ?? [];
    if (status === undefined || target === undefined) echo(request, response);
    else response.writeHead(Number(status), { location: decodeURIComponent(target) }).end();
  };

  test('is followed with the method that browsers use, or not at all', async () => {
    await using place = await Website.open(redirecting);
    const methods: Record<string, unknown> = {};
    for (const status of [301, 302, 303, 307, 308]) {
      for (const method of ['POST', 'PUT']) {
        const [used, , body] = JSON.parse(bodyOf(await place.ask(`/${status}-end`, { method, bodyBase64: 'aGk=' }))) as string[];
        methods[`${status} ${method}`] = `${used} ${body}`;
      }
    }
    assert.deepEqual(methods, {
      '301 POST': 'GET ',
      '301 PUT': 'PUT hi',
      '302 POST': 'GET ',
      '302 PUT': 'PUT hi',
      '303 POST': 'GET ',
      '303 PUT': 'GET ',
      '307 POST': 'POST hi',
      '307 PUT': 'PUT hi',
      '308 POST': 'POST hi',
      '308 PUT': 'PUT hi',
    });
    assert.equal(resultOf(await place.ask('/302-end', { redirectPolicy: 'stop' }))['status'], 302);
  });

  test('to another origin gets no credentials', async () => {
    await using place = await Website.open(redirecting, [], { KEY: 'secret' });
    const headers = [
      { name: 'Authorization', value: 'a' },
      { name: 'Cookie', value: 'b' },
      { name: 'X-Key', value: '', valueEnvVar: 'KEY' },
      { name: 'X-Plain', value: 'c' },
    ];
    const sent = async (target: string) => {
      const [, raw] = JSON.parse(bodyOf(await place.ask(`/302-${encodeURIComponent(target)}`, { headers }))) as [
        string,
        string[],
      ];
      return raw.filter((name) => /^(?:authorization|cookie|x-.*)$/i.test(name));
    };
    assert.deepEqual(await sent('/end'), ['Authorization', 'Cookie', 'X-Key', 'X-Plain']);
    assert.deepEqual(await sent(`${place.base.replace('127.0.0.1', 'localhost')}/end`), ['X-Plain']);
  });

  test('that never ends, leads to a file, or out of loopback, fails', async () => {
    await using place = await Website.open(redirecting);
    const follow = async (target: string) => errorOf(await place.ask(`/302-${encodeURIComponent(target)}`));
    assert.match((await follow('file:///etc/passwd')).message, /unsupported URL scheme: file/);
    const outside = await follow('http://192.0.2.1/');
    assert.deepEqual([outside.code, outside.message.includes('--reach 192.0.2.1')], [-32600, true]);
    await using loop = await Website.open((_, response) => response.writeHead(302, { location: '/' }).end());
    assert.match(errorOf(await loop.ask('/')).message, /too many redirects/);
  });
});
