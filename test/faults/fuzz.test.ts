// Arbitrary input on the wire causes no crash and no hang, every request gets exactly one response, and nothing is left behind.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runCampaign } from '../fuzz/campaign.js';
import { makeCase } from '../fuzz/cases.js';
import { meaningOfLine } from '../fuzz/meaning.js';
import { ReplyBook } from '../fuzz/reply-book.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';

describe('a server that is sent anything at all', () => {
  guardAgainstLeaks();

  test('answers what can be answered and survives the rest; `npm run fuzz` is the long version', async () => {
    const seed = Math.floor(Math.random() * 2 ** 32);
    const { inputs, failure } = await runCampaign({ seed, inputs: 2_000 });
    const which = failure?.case === undefined ? '--inputs 2000' : `--case ${failure.case.index}`;
    assert.deepEqual(failure?.problems ?? [], [], `reproduce: npm run fuzz -- --seed ${seed} ${which}`);
    assert.ok(inputs >= 2_000);
  });
});

describe('the fuzzer', () => {
  test('makes the same case from the same seed and index', () => {
    for (const index of [0, 1, 2, 99]) assert.deepEqual(makeCase(7, index), makeCase(7, index));
    assert.notDeepEqual(makeCase(7, 1).inputs, makeCase(8, 1).inputs);
  });

  test('notices responses that are missing, duplicate, unsolicited, or internal errors', () => {
    const request = { kind: 'request', id: 'a' } as const;
    const book = (...answers: unknown[]) => {
      const written = new ReplyBook();
      written.sent(request);
      written.sent({ kind: 'malformed' });
      for (const answer of answers) written.received(answer);
      return [...written.problems, ...written.unanswered];
    };
    const refusal = { id: -1, error: { code: -32600, message: 'no' } };
    const answer = { id: 'a', result: {} };
    assert.deepEqual(book(refusal, answer), []);
    assert.deepEqual(book(refusal), ['no answer to "a"']);
    assert.deepEqual(book(answer), ['1 refusals missing']);
    assert.deepEqual(book(answer, refusal, refusal), ['1 refusals too many']);
    assert.match(book(answer, refusal, answer)[0] ?? '', /^a second answer/);
    assert.match(book(answer, refusal, { id: 'b', result: {} })[0] ?? '', /^an unexpected answer/);
    assert.match(book(refusal, { id: 'a', error: { data: { kind: 'internalError' } } })[0] ?? '', /^an internal error/);
  });

  test('classifies messages without the server’s parser', () => {
    for (const [text, kind] of [
      ['{"id":0,"method":"x"}', 'request'],
      ['{"id":null,"method":"x"}', 'malformed'],
      ['{"id":9007199254740993,"method":"x"}', 'immense'],
      ['{"id":9007199254740993,"result":null}', 'notification'],
      ['{"method":"x"}', 'notification'],
      ['{"id":1,"result":null}', 'silent'],
      ['{"id":1}', 'malformed'],
      ['[]', 'malformed'],
      ['  ', 'silent'],
      [`{"id":1,"method":"x","params":${'['.repeat(70)}${']'.repeat(70)}}`, 'immense'],
    ] as const) {
      assert.equal(meaningOfLine(Buffer.from(text)).kind, kind, text);
    }
  });
});
