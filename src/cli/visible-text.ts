// Makes foreign text, such as names, error messages and agents' answers, safe to print: a terminal shows all of it and obeys none.

/** Characters that a terminal obeys instead of showing: control characters, and marks that change the direction of writing. */
const unseen = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** DEL and the C1 controls, which JSON does not escape and some terminals obey. */
const unseenInJson = /[\u007f-\u009f]/g;

/** `\x1b` for an escape character, and so on. For text on a single line or in a table. */
export function visible(text: string): string {
  return text.replaceAll(unseen, spelled);
}

/** The same, but keeps line breaks and tabs. */
export function visibleLines(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(unseen, (found) => (found === '\n' || found === '\t' ? found : spelled(found)));
}

/** One JSON value on one line. */
export function jsonLine(value: unknown): string {
  const json = JSON.stringify(value).replaceAll(unseenInJson, (found) => `\\u${hex(found).padStart(4, '0')}`);
  return `${json}\n`;
}

function spelled(character: string): string {
  const digits = hex(character);
  return digits.length > 2 ? `\\u${digits}` : `\\x${digits.padStart(2, '0')}`;
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16);
}
