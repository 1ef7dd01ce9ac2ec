// Identifiers on the wire. A ProcessId is chosen by the client and is not an operating-system pid.

import * as v from 'valibot';

/** Longest process id, in characters. Long enough for two UUIDs and a label; short enough to log. */
const processIdLength = 256;

/** Longest write id, in characters. Ids are remembered, so they must stay small. */
const writeIdLength = 128;

/** A lone surrogate cannot be encoded in UTF-8, so a different id would arrive. */
const wellFormed = /^\P{Cs}*$/u;

export const processId = v.pipe(
  v.string(),
  v.maxLength(processIdLength),
  v.regex(wellFormed, 'well-formed Unicode'),
  v.brand('ProcessId'),
  v.description('Key of a process, chosen by the client: well-formed Unicode; not an operating-system pid'),
);
export type ProcessId = v.InferOutput<typeof processId>;

/** Whether a string is a valid process id. */
export function isProcessId(text: string): text is ProcessId {
  return v.is(processId, text);
}

export const sessionId = v.pipe(v.string(), v.brand('SessionId'), v.description('Key of a session, chosen by the server'));
export type SessionId = v.InferOutput<typeof sessionId>;

/** Longest session id and client name, in characters. A session id is a UUID. */
const nameLength = 256;

/** A name that the server logs or looks up. */
export const shortName = v.pipe(v.string(), v.maxLength(nameLength));

export const writeId = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(writeIdLength),
  v.description('Makes a retry harmless: a write with an id already seen is not applied again'),
);

/** Per-process counter from 1, shared by chunks, exited and closed. 0 as a cursor means "from the beginning". */
export const seq = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
export type Seq = number;

/** An upper bound on an amount or a time. Any integer: one beyond the safe range, such as the largest 64-bit integer, means no limit. */
export const limit = v.pipe(v.number(), v.integer(), v.minValue(0));

/** Marks a string as a process id. The server checks that it is valid. */
export function asProcessId(text: string): ProcessId {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a brand is made by saying so
  return text as ProcessId;
}

/** Marks a string as a session id. */
export function asSessionId(text: string): SessionId {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a brand is made by saying so
  return text as SessionId;
}
