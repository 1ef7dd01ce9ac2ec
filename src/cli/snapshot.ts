// `sluice snapshot`: prints the retained beginning and end of a process's output.

import { type RetainedStream, type Stream, encodeBase64 } from '../protocol/index.js';
import { UsageError, defineCommand } from './command.js';
import { gapLine } from './output-sink.js';
import { print } from './own-output.js';
import { type ByteFilter, filterFor } from './plain-text.js';
import { attachTo, findProcess, requireServer } from './server-choice.js';
import { serverOptions } from './server-options.js';
import { jsonLine } from './visible-text.js';

const options = {
  stream: { kind: 'choice', choices: ['stdout', 'stderr'], meaning: 'Only this stream. A terminal’s output counts as stdout.' },
  raw: { kind: 'switch', meaning: 'Keep all escape sequences, wherever the output goes.' },
  json: {
    kind: 'switch',
    meaning:
      'Print one JSON object: whether the process runs or how it ended, head and tail of each stream in base64, and what is missing between them.',
  },
  ...serverOptions,
} as const;

export const snapshot = defineCommand(
  {
    name: 'snapshot',
    usage: '[OPTIONS] NAME',
    about:
      'Prints the retained beginning and end of each stream, one stream after the other, and says how much is missing between them.',
    examples: [
      { line: 'sluice snapshot web', meaning: 'how it began and where it is now' },
      { line: 'sluice snapshot --json web', meaning: 'for programs' },
    ],
    options,
    operands: 'processes',
  },
  async ({ flags, operands: [name, other] }) => {
    if (name === undefined || other !== undefined)
      throw new UsageError('snapshot needs one process, as in: sluice snapshot NAME');
    await using client = await requireServer(flags);
    const status = await findProcess(client, name);
    await using handle = await attachTo(client, status, { follow: false });
    const { streams, ...facts } = await handle.snapshot();
    const shown = (['pty', 'stdout', 'stderr'] as const).filter((stream) => isShown(stream, flags.stream));
    const retained = shown.flatMap((stream) => (streams[stream] === undefined ? [] : [{ stream, ...streams[stream] }]));
    if (flags.json) {
      const { processId } = status;
      const encoded = retained.map(({ stream, head, tail, ...gap }): [string, object] => [
        stream,
        { head: encodeBase64(head), tail: encodeBase64(tail), ...gap },
      ]);
      await print(jsonLine({ processId, ...facts, streams: Object.fromEntries(encoded) }));
      return 0;
    }
    const createFilter = await filterFor(flags);
    for (const each of retained) await print(printed(each, createFilter?.()));
    return 0;
  },
);

function isShown(stream: Stream, wanted: 'stdout' | 'stderr' | undefined): boolean {
  return wanted === undefined || (wanted === 'stderr') === (stream === 'stderr');
}

function printed({ head, tail, droppedBytes }: RetainedStream, filter: ByteFilter | undefined): Uint8Array {
  const gap = droppedBytes === 0 ? [] : [Buffer.from(`\n${gapLine(droppedBytes)}`)];
  if (filter === undefined) return Buffer.concat([head, ...gap, tail]);
  const filteredHead = filter.push(head);
  return Buffer.concat([filteredHead, ...gap, filter.push(tail), filter.end()]);
}
