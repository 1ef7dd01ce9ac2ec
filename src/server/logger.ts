// The server's log: JSON lines on stderr, since stdout may be the transport.
// Anything that looks like a secret is redacted here as a second line of defence; callers must not pass secrets in the first place.

import { basename } from 'node:path';
import { type Clock, systemClock } from '../base/clock.js';
import { type LogFields, type LogLevel, type Logger, silentLogger } from '../base/logger.js';
import { LogWriter } from './log-writer.js';

export interface LoggerOptions {
  /** The lowest level that is written. */
  readonly level: LogLevel | 'silent';
  /** Receives whole lines, instead of stderr. */
  readonly sink?: LogSink;
  readonly clock?: Clock;
}

export interface LogSink {
  write(line: string): void;
}

export interface OwnedLogger extends Logger, AsyncDisposable {}

/** In ascending order of importance. */
const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/** The caller disposes it, which waits briefly until queued lines are written. A blocked stderr keeps Node alive: end with `process.exit`. */
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
    if (stderr.write(jsonLine({ ...line, ...gap }))) droppedLines = 0; // otherwise this line was dropped too, and the next one reports it
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

/** Characters that JSON does not escape but terminals and line readers interpret: DEL, C1 controls, line separators, direction marks. */
const invisible = /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Escapes them, because clients choose ids, names and reasons, and must not be able to forge log lines. */
function visible(json: string): string {
  return json.replace(invisible, (character) =>
    Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );
}

/** The loggable facts of a process start: no arguments, no working directory, no environment. */
export function processStartFields(started: { processId: string; program: string; pid: number }): LogFields {
  return { processId: started.processId, program: basename(started.program), pid: started.pid };
}

const blackedOut = '[redacted]';

/** Names of fields whose text is never written. Numbers and booleans are: a byte count is not a secret. */
const secretNames = /token|secret|password|passphrase|authori[sz]ation|cookie|credential|stdin|chunk|^env/i;

/** A bearer header, our subprotocol for browsers, or a URL that contains a password. */
const secretTexts = /\bbearer[ .:]+\S+|(?<=:\/\/)[^\s/@]+@/gi;

/**
 * Words joined by dots; a JWT if one of them starts like JSON in base64url. Matched as a whole and inspected afterwards, because a pattern
 * that starts at every `eyJ` takes quadratic time on a long word with many of them.
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
