// A command as a log may show it: the prompt is told apart, and what looks like a secret is left out. Masks too much rather than too
// little, and cannot know every secret: a log is for its owner's eyes all the same.

/** Stands for a secret. */
const mask = '***';

/** Ends the name of an option, a variable or a member whose value is a secret: `--api-key`, `GITHUB_TOKEN`, `"authorization"`. */
const secretName = String.raw`(?:key|token|secret|password|passwd|passphrase|credentials?|auth|authorization|bearer|cookie)`;

const secretOption = new RegExp(String.raw`^--?[\w.-]*${secretName}$`, 'i');
const secretVariable = new RegExp(`${secretName}$`, 'i');

/** What to replace wherever it stands, and what by. */
const secrets: readonly (readonly [RegExp, string])[] = [
  // NAME=value, as an argument of its own or after -e; for --option=value as well.
  [new RegExp(String.raw`^([\w.-]*${secretName}=).+$`, 'is'), `$1${mask}`],
  // "name": "value" and name = "value", in settings given as JSON or TOML.
  [new RegExp(String.raw`(${secretName}["']?\s*[:=]\s*)(?:"(?:[^"\\]|\\.)*"|'[^']*')`, 'gi'), `$1"${mask}"`],
  // A header.
  [/\b((?:bearer|basic)\s+)[\w.~+/=-]+/gi, `$1${mask}`],
  // https://user:password@host
  [/(\w:\/\/[^\s:/@]*:)[^\s/@]+@/g, `$1${mask}@`],
  // Keys that say themselves what they are.
  [/\b(?:sk|pk|rk)-[\w-]{12,}|\bgh[pousr]_\w{16,}|\bgithub_pat_\w{16,}|\bxox[a-z]-[\w-]{8,}|\bAKIA[0-9A-Z]{12,}/g, mask],
  [/\beyJ[\w-]{1,4000}\.[\w-]{1,8000}\.[\w-]*/g, mask],
];

/** Shorter values of secret variables are words that may stand anywhere. */
const leastSecretChars = 8;

export interface Unshown {
  readonly prompt: string;
  /** Of the program; values of variables with names of secrets are left out wherever they stand. */
  readonly env: Readonly<Record<string, string>>;
}

export function shownArgv(argv: readonly string[], { prompt, env }: Unshown): string[] {
  const values = Object.entries(env).flatMap(([name, value]) =>
    secretVariable.test(name) && value.length >= leastSecretChars ? [value] : [],
  );
  return argv.map((argument, index) => {
    if (argument === prompt) return '<prompt>';
    if (secretOption.test(argv[index - 1] ?? '') && !argument.startsWith('--')) return mask;
    const withoutValues = values.reduce((text, value) => text.replaceAll(value, mask), argument);
    return secrets.reduce((text, [pattern, by]) => text.replace(pattern, by), withoutValues);
  });
}
