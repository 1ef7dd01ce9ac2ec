// The logging interface for the server's operator. Fields are plain values, so that no environment, header or payload fits into one.

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Facts about an event; undefined ones are omitted. Describe bytes, tokens and paths by length or digest, never by content. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
