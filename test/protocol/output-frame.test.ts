// Both encodings of process/output match the schema in the table.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import * as v from 'valibot';
import { OutputFrameHeads, asProcessId, decodeOutputFrame, notifications } from '#src/protocol/index.js';
import { OutputMessages } from '#src/protocol/output-frame.js';

const output = fc.record({
  processId: fc.string({ unit: 'grapheme', maxLength: 40 }).map(asProcessId),
  seq: fc.maxSafeNat().map((seq) => seq % 2 ** 48),
  stream: fc.constantFrom('stdout' as const, 'stderr' as const, 'pty' as const),
  droppedBytes: fc.option(fc.integer({ min: 1, max: 2 ** 40 }), { nil: undefined }),
  chunk: fc.uint8Array({ maxLength: 200 }),
});

const { params: schema } = notifications['process/output'];

test('a chunk encoded as JSON matches the schema of its notification', () => {
  fc.assert(
    fc.property(output, ({ processId, droppedBytes, ...rest }) => {
      const given = droppedBytes === undefined ? rest : { ...rest, droppedBytes };
      const [head, chunk, tail] = new OutputMessages(processId).next(given);
      const message: unknown = JSON.parse(`${head}${Buffer.from(chunk).toString('base64')}${tail}`);
      const { method, params } = v.parse(v.object({ method: v.string(), params: schema }), message);
      assert.deepEqual({ method, params }, { method: 'process/output', params: { processId, ...given, chunk: params.chunk } });
      assert.deepEqual([...params.chunk], [...given.chunk]);
    }),
  );
});

test('a chunk encoded as a frame decodes to the same values', () => {
  fc.assert(
    fc.property(output, ({ processId, droppedBytes, ...rest }) => {
      const given = droppedBytes === undefined ? rest : { ...rest, droppedBytes };
      const frame = Buffer.concat([new OutputFrameHeads(processId).next(given), given.chunk]);
      const { chunk, ...facts } = decodeOutputFrame(frame) ?? assert.fail('not a frame');
      assert.deepEqual({ ...facts, chunk: [...chunk] }, { processId, ...given, chunk: [...given.chunk] });
    }),
  );
});
