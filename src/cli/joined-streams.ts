// Joins our streams to a process's: forwards our stdin to it, and its output to us.

import type { ProcessHandle } from '../client/index.js';
import { isExecError } from '../protocol/index.js';
import type { DetachKeys } from './detach-keys.js';
import { onSignals } from './inherited-signals.js';
import { inputFailure, releaseInput, openInput } from './own-input.js';
import type { OutputSink } from './output-sink.js';
import type { SignalRelay } from './signal-relay.js';

export interface JoinOptions {
  /** `none` leaves our stdin alone; `watch` reads it for the detach keys only. */
  readonly stdin: 'none' | 'watch' | 'forward';
  /** What the end of our stdin means for the process. */
  readonly atEnd: 'closeStdin' | 'detach' | 'nothing';
  readonly detachKeys?: DetachKeys | undefined;
  /** Forwards signals to the process; without it they make us detach, and the process keeps running. */
  readonly signals?: SignalRelay | undefined;
  readonly sink: OutputSink;
}

export type Parting = 'ended' | 'detached';

const leavingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const ctrlC = 0x03;

/** Input in flight to the process before we stop reading ours: enough to keep a fast reader busy. */
const inFlightBytes = 256 * 1024;

/**
 * Resolves when the output of the process has ended, or when we detach from it. Rejects when our stdin cannot be read or the sink cannot
 * take the output; the caller then decides what becomes of the process.
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
    if (options.stdin !== 'none') releaseInput();
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

/** Reads at the pace of the command; input typed after it has stopped reading goes nowhere. */
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
      () => stdin.pause(), // the process is gone, and its ending is reported elsewhere
    );
  };
  // With a server that cannot close stdin, such as Codex's own, the command would wait for its end forever.
  const failIfRefused = (error: unknown) => isExecError(error, 'invalidRequest') && fail(error);
  const end = () => {
    if (atEnd === 'detach') leave();
    else if (atEnd === 'closeStdin') child.closeStdin().catch(failIfRefused); // on other errors the process is gone, as above
  };
  stdin.on('data', (piece: Buffer) => {
    const { bytes, isDetached } = detachKeys?.push(piece) ?? { bytes: piece, isDetached: false };
    if (use === 'forward' && bytes.length > 0) forward(bytes);
    // In raw mode Ctrl-C is a key like any other, and a watching client has no other use for it.
    if (isDetached || (use === 'watch' && piece.includes(ctrlC))) leave();
  });
  stdin.on('end', end);
  stdin.on('error', (error) => {
    const failure = inputFailure(error);
    if (failure === undefined) end();
    else fail(failure);
  });
}
