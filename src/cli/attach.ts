// `sluice attach`: shows a process's output here and sends our keys to it.

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
  'read-only': { kind: 'switch', meaning: 'Only watch: forward no keys, signals or terminal size.' },
  'no-replay': { kind: 'switch', meaning: 'Skip the retained output; show only what the process writes from now on.' },
  'detach-keys': {
    kind: 'text',
    placeholder: 'KEYS',
    meaning: `Keys that detach and leave the process running, separated by commas; "" for none. Default: ${defaultDetachKeys}.`,
  },
  ...serverOptions,
} as const;

export const attach = defineCommand(
  {
    name: 'attach',
    usage: '[OPTIONS] NAME',
    about:
      'Joins a process: prints its retained output, then what it writes. Forwards keys, signals and the size of this terminal to the ' +
      'process, unless --read-only. Any number of clients can attach at the same time; the last one to drive decides the size.',
    examples: [
      { line: 'sluice attach shell', meaning: 'reattach to a process left running' },
      { line: 'sluice attach --read-only agent', meaning: 'only watch; Ctrl-C leaves' },
    ],
    options,
    operands: 'processes',
    notes: [
      'The detach keys leave the process running; so does Ctrl-D when the process has no terminal. "sluice send --eof" closes its stdin.',
      'Exit status: that of the process, as with "sluice exec"; 0 when detached; 125 when the server is lost.',
    ],
  },
  async ({ flags, operands: [name, other] }) => {
    if (name === undefined || other !== undefined) throw new UsageError('attach needs one process, as in: sluice attach NAME');
    const detachKeys = new DetachKeys(flags['detach-keys'] ?? defaultDetachKeys);
    // When we only watch, or stdin is not a terminal, the terminal's answers to queries would not reach the process.
    const streams = new OwnStreams({ queries: flags['read-only'] || !isatty(0) ? 'none' : 'live' });
    await using client = await requireServer(flags, (text) => void streams.notify(text));
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
        raw?.[Symbol.dispose](); // our own message needs the terminal out of raw mode
        await streams.notify(detachedText(name, flags));
        return 0;
      case 'ended': {
        const ending = await child.closed;
        if (ending.kind !== 'code') await streams.tidy();
        if (ending.kind === 'lost') await streams.notify(await lossText(client));
        return exitStatus(ending);
      }
    }
  },
);
