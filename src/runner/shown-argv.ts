// A command as a log may show it: without the prompt, which is logged separately, and without anything that looks like a secret. Masks too
// much rather than too little, but cannot recognise every secret, so a log is still for its owner only.

/** Replaces a secret. */
const mask = '***';

/** The end of the name of an option, a variable or a member whose value is a secret: `--api-key`, `GITHUB_TOKEN`, `"authorization"`. */
const secretName = String.raw`(?:key|token|secret|password|passwd|passphrase|credentials?|auth|authorization|bearer|cookie)`;

const secretOption = new RegExp(String.raw`^--?[\w.-]*${secretName}$`, 'i');
const secretVariable = new RegExp(`${secretName}$`, 'i');

/** Patterns to replace wherever they occur, and their replacements. */
const secrets: readonly (readonly [RegExp, string])[] = [
  // NAME=value, as an argument on its own or after -e; also --option=value.
  [new RegExp(String.raw`^([\w.-]*${secretName}=).+$`, 'is'), `$1${mask}`],
  // "name": "value" and name = "value", in settings given as JSON or TOML.
  [new RegExp(String.raw`(${secretName}["']?\s*[:=]\s*)(?:"(?:[^"\\]|\\.)*"|'[^']*')`, 'gi'), `$1"${mask}"`],
  // An HTTP header.
  [/\b((?:bearer|basic)\s+)[\w.~+/=-]+/gi, `$1${mask}`],
  // https://user:password@host
  [/(\w:\/\/[^\s:/@]*:)[^\s/@]+@/g, `$1${mask}@`],
  // Keys with a recognisable prefix.
  [/\b(?:sk|pk|rk)-[\w-]{12,}|\bgh[pousr]_\w{16,}|\bgithub_pat_\w{16,}|\bxox[a-z]-[\w-]{8,}|\bAKIA[0-9A-Z]{12,}/g, mask],
  [/\beyJ[\w-]{1,4000}\.[\w-]{1,8000}\.[\w-]*/g, mask],
];

/** Shorter values of secret variables are left alone: they may be ordinary words. */
const leastSecretChars = 8;

export interface Unshown {
  readonly prompt: string;
  /** Of the program; the values of variables with secret names are masked wherever they occur. */
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
