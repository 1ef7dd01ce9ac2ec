// The server's log: JSON lines on stderr, since stdout may be the transport.
// What a secret could look like is blacked out here once more, although nobody should hand it in.

import { basename } from 'node:path';
import { type Clock, systemClock } from '../base/clock.js';
import { type LogFields, type LogLevel, type Logger, silentLogger } from '../base/logger.js';
import { LogWriter } from './log-writer.js';

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

/** From the least important on. */
const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/** Whoever creates it disposes it, which writes what is left. A stderr that takes nothing keeps Node alive: end with `process.exit`. */
export function createLogger({ level, sink, clock = systemClock }: LoggerOptions): OwnedLogger {
  if (level === 'silent') return { ...silentLogger, [Symbol.asyncDispose]: async () => {} };
  const stderr = sink === undefined ? new LogWriter(clock) : undefined;
  let isClosed = false;
  let droppedLines = 0;
  const write = (lineLevel: LogLevel, message: string, fields: LogFields = {}) => {
    if (isClosed || levels.indexOf(lineLevel) < levels.indexOf(level)) return;
    droppedLines += stderr?.takeLostLines() ?? 0;
    const told = droppedLines === 0 ? {} : { droppedLines };
    const time = new Date(clock.now()).toISOString();
    const line = JSON.stringify({ level: lineLevel, time, ...redacted(fields), ...told, msg: scrubbed(message) });
    if (stderr?.write(`${line}\n`) !== false) droppedLines = 0; // else this line was dropped as well, and will be told of
    sink?.write(`${line}\n`);
  };
  return {
    debug: (message, fields) => write('debug', message, fields),
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields) => write('error', message, fields),
    [Symbol.asyncDispose]: async () => {
      isClosed = true;
      await stderr?.flush();
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
