// The server's log: JSON lines on stderr, since stdout may be the transport. The only import of pino, loaded when a log is wanted.
// What a secret could look like is blacked out here once more, although nobody should hand it in.

import { basename } from 'node:path';
import { type Clock, systemClock } from '../base/clock.js';
import { type LogFields, type LogLevel, type Logger, silentLogger } from '../base/logger.js';

export interface LoggerOptions {
  /** The least important level that is written. */
  readonly level: LogLevel | 'silent';
  /** Takes whole lines, instead of stderr. */
  readonly sink?: LogSink;
  readonly clock?: Clock;
}

export interface LogSink {
  write(line: string): void;
}

export interface OwnedLogger extends Logger, AsyncDisposable {}

/** Lines waiting for a stderr that nobody reads. More are dropped and counted, so that a full pipe never stops the server. */
const queuedLogBytes = 1024 * 1024;

/** How long closing waits for stderr to take what is left. */
const flushMs = 500;

/** Whoever creates it disposes it, which writes what is left. A stderr that takes nothing keeps Node alive: end with `process.exit`. */
export async function createLogger(options: LoggerOptions): Promise<OwnedLogger> {
  if (options.level === 'silent') return { ...silentLogger, [Symbol.asyncDispose]: async () => {} };
  const { pino } = await import('pino');
  const stderr = options.sink === undefined ? pino.destination({ dest: 2, sync: false, maxLength: queuedLogBytes }) : undefined;
  let droppedLines = 0;
  let closing: Promise<void> | undefined;
  stderr?.on('drop', () => (droppedLines += 1));
  stderr?.on('error', () => (droppedLines += 1)); // a full disk behind stderr is no reason to end processes
  const target = pino(
    { level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (level) => ({ level }) } },
    stderr ?? options.sink ?? { write() {} },
  );
  const write = (level: LogLevel, message: string, fields: LogFields = {}) => {
    if (closing !== undefined || !target.isLevelEnabled(level)) return;
    const untold = droppedLines;
    target[level]({ ...redacted(fields), ...(untold === 0 ? {} : { droppedLines: untold }) }, scrubbed(message));
    if (droppedLines === untold) droppedLines = 0; // else this line was dropped as well
  };
  return {
    debug: (message, fields) => write('debug', message, fields),
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields) => write('error', message, fields),
    [Symbol.asyncDispose]: async () => {
      closing ??= stderr === undefined ? Promise.resolve() : ended(stderr, options.clock ?? systemClock);
      await closing;
    },
  };
}

/** A process start as the log may know it: no arguments, no folder, no environment. */
export function processStartFields(started: { processId: string; program: string; pid: number }): LogFields {
  return { processId: started.processId, program: basename(started.program), pid: started.pid };
}

const blackedOut = '[redacted]';

/** Names of fields whose text is never written. Numbers and booleans are: a count of bytes is no secret. */
const secretNames = /token|secret|password|passphrase|authori[sz]ation|cookie|credential|stdin|chunk|^env/i;

/** A bearer header, our subprotocol for browsers, a JWT, a URL with a password in it. */
const secretTexts = /\bbearer[ .:]+\S+|\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?|(?<=:\/\/)[^\s/@]+@/gi;

function redacted(fields: LogFields): LogFields {
  const shown: Record<string, LogFields[string]> = {};
  for (const [name, value] of Object.entries(fields)) {
    const isSecret = typeof value === 'string' && secretNames.test(name);
    shown[name] = isSecret ? blackedOut : typeof value === 'string' ? scrubbed(value) : value;
  }
  return shown;
}

function scrubbed(text: string): string {
  return text.replace(secretTexts, blackedOut);
}

interface Destination {
  once(event: 'close', listener: () => void): unknown;
  end(): void;
  destroy(): void;
}

function ended(destination: Destination, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.after(flushMs, () => destination.destroy());
    destination.once('close', () => {
      timer.cancel();
      resolve();
    });
    destination.end();
  });
}
