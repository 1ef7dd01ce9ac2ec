// `sluice attach`: a process's output here, and our keys there.

import { isatty } from 'node:tty';
import { UsageError, defineCommand } from './command.js';
import { DetachKeys, defaultDetachKeys } from './detach-keys.js';
import { exitStatus } from './exit-status.js';
import { joinStreams } from './joined-streams.js';
import { LocalTerminal } from './local-terminal.js';
import { OwnStreams } from './output-sink.js';
import { attachTo, findProcess, requireServer } from './server-choice.js';
import { SignalRelay } from './signal-relay.js';
import { detachedText, lossText, serverOptions } from './server-options.js';

const options = {
  'read-only': { kind: 'switch', meaning: 'Only watch: keys and signals are for us, the size stays as it is.' },
  'no-replay': { kind: 'switch', meaning: 'Begin with what it writes from now on.' },
  'detach-keys': {
    kind: 'text',
    placeholder: 'KEYS',
    meaning: `Keys that leave it running, names separated by commas; "" for none. Default: ${defaultDetachKeys}.`,
  },
  ...serverOptions,
} as const;

export const attach = defineCommand(
  {
    name: 'attach',
    usage: '[OPTIONS] NAME',
    about:
      'Joins a process: first what is retained of its output, then what it writes. Keys, signals and the size of our terminal go to ' +
      'the process, unless we only watch. Any number can be attached at the same time; the one that drives last decides the size.',
    examples: [
      { line: 'sluice attach shell', meaning: 'come back to it' },
      { line: 'sluice attach --read-only agent', meaning: 'look over its shoulder; Ctrl-C leaves' },
    ],
    options,
    operands: 'processes',
    notes: [
      'Detach keys leave the process running, and so does Ctrl-D where the process has no terminal. "sluice send --eof" ends its stdin.',
      'Exit status: that of the process, as "sluice exec" gives it; 0 when detached; 125 when the server is lost.',
    ],
  },
  async ({ flags, operands: [name, other] }) => {
    if (name === undefined || other !== undefined) throw new UsageError('attach needs one process, as in: sluice attach NAME');
    const detachKeys = new DetachKeys(flags['detach-keys'] ?? defaultDetachKeys);
    // Where we only watch, or read our keys from elsewhere, the terminal's answers would not reach the process.
    const streams = new OwnStreams({ queries: flags['read-only'] || !isatty(0) ? 'none' : 'live' });
    await using client = await requireServer(flags, (text) => void streams.tell(text));
    const status = await findProcess(client, name);
    const isDriving = !flags['read-only'];
    const terminal = status.io.kind === 'pty' ? new LocalTerminal() : undefined;
    using signals = isDriving ? new SignalRelay() : undefined;
    using raw = terminal?.raw();
    await using child = await attachTo(client, status, {
      role: isDriving ? 'drive' : 'watch',
      ...(flags['no-replay'] ? { afterSeq: status.nextSeq - 1, afterBytes: status.outputBytes } : {}),
    });
    using _size = isDriving ? terminal?.lendSize(child) : undefined;
    const parting = await joinStreams(child, {
      stdin: isDriving ? 'forward' : isatty(0) ? 'watch' : 'none',
      atEnd: isatty(0) ? 'detach' : 'nothing',
      detachKeys,
      signals,
      sink: streams,
    });
    switch (parting) {
      case 'detached':
        await streams.tidy();
        raw?.[Symbol.dispose](); // a line of ours is for the terminal as it was
        await streams.tell(detachedText(name, flags));
        return 0;
      case 'ended': {
        const ending = await child.closed;
        if (ending.kind !== 'code') await streams.tidy();
        if (ending.kind === 'lost') await streams.tell(await lossText(client));
        return exitStatus(ending);
      }
    }
  },
);
