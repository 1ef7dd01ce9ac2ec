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

/** The caller disposes it, which waits briefly for stderr to take the rest. A stderr that takes nothing keeps Node alive: end with `process.exit`. */
export function createLogger({ level, sink, clock = systemClock }: LoggerOptions): OwnedLogger {
  if (level === 'silent') return { ...silentLogger, [Symbol.asyncDispose]: async () => {} };
  const stderr = sink === undefined ? new LogWriter(clock) : undefined;
  let isClosed = false;
  let droppedLines = 0;
  const log = (lineLevel: LogLevel, message: string, fields: LogFields = {}) => {
    if (isClosed || levels.indexOf(lineLevel) < levels.indexOf(level)) return;
    const line = { level: lineLevel, at: clock.now(), fields, message };
    if (stderr === undefined) return sink?.write(jsonLine(line));
    droppedLines += stderr.takeLostLines();
    const gap = droppedLines === 0 ? {} : { droppedLines };
    if (stderr.write(jsonLine({ ...line, ...gap }))) droppedLines = 0; // else this line was dropped too, and the next one reports it
  };
  return {
    debug: (message, fields) => log('debug', message, fields),
    info: (message, fields) => log('info', message, fields),
    warn: (message, fields) => log('warn', message, fields),
    error: (message, fields) => log('error', message, fields),
    [Symbol.asyncDispose]: async () => {
      isClosed = true;
      await stderr?.flush();
    },
  };
}

interface Line {
  readonly level: LogLevel;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly fields: LogFields;
  readonly message: string;
  readonly droppedLines?: number;
}

function jsonLine({ level, at, fields, message, droppedLines }: Line): string {
  const time = new Date(at).toISOString();
  return `${visible(JSON.stringify({ level, time, ...redacted(fields), droppedLines, msg: scrubbed(message) }))}\n`;
}

/** What JSON leaves as it is, and a terminal or a reader of lines does not: deletes, control codes beyond ASCII, line ends, turns of direction. */
const invisible = /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The same JSON without them: ids, names and reasons are chosen by clients, and nobody must see a line that was never written. */
function visible(json: string): string {
  return json.replace(invisible, (character) =>
    Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );
}

/** A process start as the log may know it: no arguments, no folder, no environment. */
export function processStartFields(started: { processId: string; program: string; pid: number }): LogFields {
  return { processId: started.processId, program: basename(started.program), pid: started.pid };
}

const blackedOut = '[redacted]';

/** Names of fields whose text is never written. Numbers and booleans are: a count of bytes is no secret. */
const secretNames = /token|secret|password|passphrase|authori[sz]ation|cookie|credential|stdin|chunk|^env/i;

/** A bearer header, our subprotocol for browsers, a URL with a password in it. */
const secretTexts = /\bbearer[ .:]+\S+|(?<=:\/\/)[^\s/@]+@/gi;

/**
 * Words joined by dots; a JWT when one of them begins like JSON in base64url. Found whole and looked into afterwards: a pattern that
 * begins at every `eyJ` takes time with the square of a long word that has many.
 */
const dottedWords = /(?<![\w-])[\w-]+(?:\.[\w-]+)+/g;

function redacted(fields: LogFields): LogFields {
  const shown: Record<string, LogFields[string]> = {};
  for (const [name, value] of Object.entries(fields)) {
    const isSecret = typeof value === 'string' && secretNames.test(name);
    shown[name] = isSecret ? blackedOut : typeof value === 'string' ? scrubbed(value) : value;
  }
  return shown;
}

function scrubbed(text: string): string {
  return text.replace(secretTexts, blackedOut).replace(dottedWords, (words) => (/\beyJ/i.test(words) ? blackedOut : words));
}
