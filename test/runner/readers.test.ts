// What holds for every reader of lines, whatever the program: nothing is lost, nothing makes it throw, terminals do not matter.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { AgentAdapter } from '#src/runner/agent-adapter.js';
import { claude } from '#src/runner/adapters/claude.js';
import { codex } from '#src/runner/adapters/codex.js';
import { jsonl } from '#src/runner/adapters/jsonl.js';

const readers: readonly AgentAdapter[] = [claude(), codex(), jsonl({ command: ['agent'], isTurnEnd: () => false })];

for (const adapter of readers) {
  describe(`the reader of ${adapter.name}`, () => {
    const createReader = () => adapter.createReader();
    const object = { unheard: 'of', list: [1, { deep: null }] };
    const whole = [{ type: 'raw', stream: 'stdout', line: object }];

    test('passes unknown JSON on whole', () => {
      assert.deepEqual(createReader().read(JSON.stringify(object), 'stdout'), whole);
    });

    test('ignores what a terminal adds around a line', () => {
      const around = [
        ['\uFEFF', ''],
        ['', '\r'],
        ['\u001B[?25h', '\u001B[0m\r'],
        ['\u001B]0;title\u0007 \u001B(B', '\u001B[K'],
        ['^D\b\b', '\u0000'],
      ];
      assert.deepEqual(
        around.map(([before, after]) => createReader().read(`${before}${JSON.stringify(object)}${after}`, 'stdout')),
        around.map(() => whole),
      );
    });

    test('reports nothing for a line that contains only that', () => {
      assert.deepEqual(
        ['', '\r', '\u001B[?25h', ' \t', '\uFEFF'].flatMap((line) => createReader().read(line, 'stdout')),
        [],
      );
    });

    test('passes text on unchanged', () => {
      const lines = [
        '{"type":"result","is_err',
        'Error: no {braces}',
        '{"a":1}{"b":2}',
        '[1]',
        '42',
        '"x"',
        '{}}',
        '\uFFFD\u0001PNG\u0000',
        '}{',
        '{"a":1} and more',
      ];
      assert.deepEqual(
        lines.flatMap((line) => createReader().read(line, 'stdout')),
        lines.map((line) => ({ type: 'raw', stream: 'stdout', line })),
      );
    });

    test('treats stderr as text, JSON or not', () => {
      const line = '{"type":"result","is_error":false}';
      assert.deepEqual(createReader().read(line, 'stderr'), [{ type: 'raw', stream: 'stderr', line }]);
    });

    test('reads a line of many megabytes, and JSON deeper than any stack', () => {
      const long = { unheard: 'x'.repeat(20_000_000) };
      const deep = `{"a":${'['.repeat(1_000_000)}`;
      assert.deepEqual(createReader().read(JSON.stringify(long), 'stdout'), [{ type: 'raw', stream: 'stdout', line: long }]);
      assert.deepEqual(createReader().read(`${deep}}`, 'stdout'), [{ type: 'raw', stream: 'stdout', line: `${deep}}` }]);
    });

    test('never throws, whatever the lines, and loses none with content', () => {
      fc.assert(
        fc.property(fc.array(fc.tuple(fc.string({ unit: 'binary' }), stream)), (lines) => {
          const reader = createReader();
          for (const [line, from] of lines) assert.ok(reader.read(`x${line}`, from).length === 1);
          for (const [line, from] of lines) reader.read(line, from);
        }),
      );
    });

    test('never throws, whatever the JSON, and passes on objects of unknown type', () => {
      fc.assert(
        fc.property(fc.array(likelyJson), (objects) => {
          const reader = createReader();
          for (const json of objects) {
            reader.read(JSON.stringify(json), 'stdout');
            const unheard = { ...json, type: 'unheard' };
            assert.deepEqual(reader.read(JSON.stringify(unheard), 'stdout').at(-1), {
              type: 'raw',
              stream: 'stdout',
              line: unheard,
            });
          }
        }),
      );
    });
  });
}

const stream = fc.constantFrom('stdout', 'stderr');

/** The words that the readers look for, and values that must not make them throw. */
const types = oneOf(
  'system stream_event assistant user result control_request control_response rate_limit_event ' +
    'thread.started item.updated item.completed turn.completed turn.failed error',
);
const kinds = oneOf(
  'init status api_retry can_use_tool text text_delta tool_use tool_result content_block_delta ' +
    'agent_message command_execution file_change mcp_tool_call todo_list',
);
const members = oneOf(
  'subtype session_id uuid message content event delta item id text type changes items result usage ' +
    'modelUsage errors request request_id response tool_name rate_limit_info attempt __proto__ constructor',
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    kinds,
    fc.constantFrom(null, true, 0, -1, ''),
    fc.array(tie('value')),
    fc.dictionary(members, tie('value')),
  ),
}));
const likelyJson = fc
  .tuple(types, fc.dictionary(members, value))
  .map(([type, json]): Record<string, unknown> => JSON.parse(JSON.stringify({ ...json, type })) as Record<string, unknown>);

function oneOf(words: string): fc.Arbitrary<string> {
  return fc.constantFrom(...words.split(' '));
}
