// Our streams and a process's, joined: what arrives on stdin goes there, what it writes comes here.

import type { ProcessHandle } from '../client/index.js';
import { isExecError } from '../protocol/index.js';
import type { DetachKeys } from './detach-keys.js';
import { onSignals } from './inherited-signals.js';
import { inputFailure, letGoOfInput, openInput } from './own-input.js';
import type { OutputSink } from './output-sink.js';
import type { SignalRelay } from './signal-relay.js';

export interface JoinOptions {
  /** `none` leaves our stdin alone; `watch` reads it for the detach keys only. */
  readonly stdin: 'none' | 'watch' | 'forward';
  /** What the end of our stdin means for the process. */
  readonly atEnd: 'closeStdin' | 'detach' | 'nothing';
  readonly detachKeys?: DetachKeys | undefined;
  /** Where signals go; without it they mean us, and the process goes on. */
  readonly signals?: SignalRelay | undefined;
  readonly sink: OutputSink;
}

export type Parting = 'ended' | 'detached';

const leavingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const ctrlC = 0x03;

/** Input on its way to the process before ours is held back: enough to keep a fast reader busy. */
const inFlightBytes = 256 * 1024;

/**
 * Resolves when nothing more can come from the process, or it is to go on without us. Rejects when our stdin cannot be read or the sink
 * cannot take the output; what becomes of the process then is for the caller.
 */
export async function joinStreams(child: ProcessHandle, options: JoinOptions): Promise<Parting> {
  const leaving = new AbortController();
  const leave = () => leaving.abort();
  using _signals = options.signals === undefined ? onSignals(leavingSignals, leave) : options.signals.passTo(child);
  try {
    return await new Promise<Parting>((resolve, reject) => {
      leaving.signal.addEventListener('abort', () => resolve('detached'));
      if (options.stdin !== 'none') readStdin(child, options, { leave, fail: reject });
      forwardOutput(child, options.sink).then(resolve, reject);
    });
  } finally {
    if (options.stdin !== 'none') letGoOfInput();
  }
}

async function forwardOutput(child: ProcessHandle, sink: OutputSink): Promise<Parting> {
  for await (const chunk of child.output) await sink.take(chunk);
  return 'ended';
}

/** How the join can end before the process does. */
interface Exits {
  readonly leave: () => void;
  readonly fail: (error: Error) => void;
}

/** At the pace the command reads; what is typed after it stopped reading goes nowhere. */
function readStdin(child: ProcessHandle, { stdin: use, atEnd, detachKeys }: JoinOptions, { leave, fail }: Exits): void {
  const stdin = openInput();
  let waitingBytes = 0;
  const forward = (bytes: Uint8Array) => {
    waitingBytes += bytes.length;
    if (waitingBytes >= inFlightBytes) stdin.pause();
    void child.write(bytes).then(
      (status) => {
        waitingBytes -= bytes.length;
        if (status === 'accepted' && waitingBytes < inFlightBytes) stdin.resume();
      },
      () => stdin.pause(), // the process has gone; its ending is reported
    );
  };
  // A server that cannot end stdin, as Codex's own: the command would wait for it for ever.
  const failIfRefused = (error: unknown) => isExecError(error, 'invalidRequest') && fail(error);
  const end = () => {
    if (atEnd === 'detach') leave();
    else if (atEnd === 'closeStdin') child.closeStdin().catch(failIfRefused); // otherwise the same
  };
  stdin.on('data', (piece: Buffer) => {
    const { bytes, isDetached } = detachKeys?.push(piece) ?? { bytes: piece, isDetached: false };
    if (use === 'forward' && bytes.length > 0) forward(bytes);
    // In raw mode Ctrl-C is a key like any other, and a watcher has no other use for it.
    if (isDetached || (use === 'watch' && piece.includes(ctrlC))) leave();
  });
  stdin.on('end', end);
  stdin.on('error', (error) => {
    const failure = inputFailure(error);
    if (failure === undefined) end();
    else fail(failure);
  });
}
