// Gathers what was said on the command line, in the environment and in a config file, as text: a flag wins over a variable, a variable
// over the file. Knows which options there are, not what their values mean.

import path from 'node:path';
import { parseArgs } from 'node:util';
import * as v from 'valibot';
import { closestName } from './closest-name.js';
import { envNameOf, fileNameOf, serveOptions } from './serve-options.js';

export interface Sources {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads a config file; throws when it cannot. */
  readonly readText: (file: string) => string;
}

export interface Setting {
  /** As whoever gave it would name it: a flag, a variable, or a member of a file. */
  readonly label: string;
  /** One, unless the option may be repeated. */
  readonly texts: readonly string[];
}

/** By flag, without the dashes. */
export type Settings = ReadonlyMap<string, Setting>;

export type Gathered =
  | { readonly kind: 'help' }
  | {
      readonly kind: 'settings';
      readonly settings: Settings;
      /** Worth a line in the log: variables that look like settings and are none. */
      readonly warnings: readonly string[];
    };

export function gatherSettings({ args, env, readText }: Sources): Gathered {
  const flags = fromFlags(args);
  if (flags === 'help') return { kind: 'help' };
  const variables = fromEnvironment(env);
  const config = flags.get('config') ?? variables.get('config');
  const file = config?.texts[0] === undefined ? [] : fromFile(config.texts[0], readText);
  const settings = new Map([...file, ...variables, ...flags]);
  return { kind: 'settings', settings, warnings: unknownVariables(env) };
}

function fromFlags(args: readonly string[]): Map<string, Setting> | 'help' {
  const settings = new Map<string, Setting>();
  const options = Object.fromEntries(
    [...serveOptions].map(([flag, { kind }]) => [flag, { type: kind === 'switch' ? ('boolean' as const) : ('string' as const) }]),
  );
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  if (tokens.some((token) => token.kind === 'option' && ['help', 'h'].includes(token.name))) return 'help';
  for (const token of tokens) {
    if (token.kind === 'positional') {
      throw new Error(`serve takes no argument "${token.value}"; an address is given with --listen`);
    }
    if (token.kind === 'option') {
      const { flag, text } = readFlag(token);
      const earlier = isRepeatable(flag) ? (settings.get(flag)?.texts ?? []) : [];
      settings.set(flag, { label: `--${flag}`, texts: [...earlier, text] });
    }
  }
  return settings;
}

interface FlagToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function readFlag({ name, rawName, value, inlineValue }: FlagToken): { flag: string; text: string } {
  const isNegated = serveOptions.get(name.replace(/^no-/, ''))?.kind === 'switch' && name.startsWith('no-');
  const flag = isNegated ? name.slice(3) : name;
  const option = rawName.startsWith('--') ? serveOptions.get(flag) : undefined;
  if (option === undefined) {
    throw new Error(`unknown option "${rawName}"${suggestion(rawName, flagNames())}; "sluice serve --help" lists all`);
  }
  if (option.kind === 'switch') {
    if (value !== undefined) throw new Error(`${rawName} takes no value, got "${value}"; use --${flag} or --no-${flag}`);
    return { flag, text: String(!isNegated) };
  }
  // "--token-file --log-level" is a forgotten value, not a file of that name.
  if (value === undefined || value === '' || (inlineValue !== true && value.startsWith('-'))) {
    throw new Error(`${rawName} needs a value, as in ${rawName} ${option.placeholder ?? 'VALUE'}`);
  }
  return { flag, text: value };
}

function fromEnvironment(env: Sources['env']): Map<string, Setting> {
  const settings = new Map<string, Setting>();
  for (const flag of serveOptions.keys()) {
    const label = envNameOf(flag);
    const text = env[label];
    if (text === undefined) continue;
    settings.set(flag, { label, texts: present(label, isRepeatable(flag) ? text.split(',') : [text]) });
  }
  return settings;
}

function unknownVariables(env: Sources['env']): string[] {
  const known = [...serveOptions.keys()].map(envNameOf);
  return Object.keys(env)
    .filter((name) => name.startsWith('SLUICE_') && env[name] !== undefined && !known.includes(name))
    .map((name) => `environment variable ${name} is no setting of serve${suggestion(name, known)}`);
}

const scalar = v.union([v.string(), v.number(), v.boolean()]);
const fileContent = v.record(v.string(), v.union([scalar, v.array(v.string())]));

function fromFile(file: string, readText: Sources['readText']): Map<string, Setting> {
  const parsed = v.safeParse(fileContent, parseJson(file, readText));
  if (!parsed.success) {
    const where = v.getDotPath(parsed.issues[0]) ?? undefined;
    const form = 'must be a text, a number, true, false or a list of texts';
    const problem = where === undefined ? 'it must hold an object' : `"${where}" ${form}`;
    throw new Error(`config file "${file}": ${problem}`);
  }
  const flagOf = new Map([...serveOptions.keys()].filter((flag) => flag !== 'config').map((flag) => [fileNameOf(flag), flag]));
  return new Map(
    Object.entries(parsed.output).map(([name, value]): [string, Setting] => {
      const flag = flagOf.get(name);
      if (flag === undefined) {
        throw new Error(`config file "${file}": unknown setting "${name}"${suggestion(name, [...flagOf.keys()])}`);
      }
      const label = `"${name}" in ${file}`;
      const texts = present(label, [value].flat().map(String));
      if (Array.isArray(value) && !isRepeatable(flag)) throw new Error(`${label} takes one value, got a list of ${value.length}`);
      return [flag, { label, texts: isPath(flag) ? texts.map((text) => path.resolve(path.dirname(file), text)) : texts }];
    }),
  );
}

function parseJson(file: string, readText: Sources['readText']): unknown {
  let text: string;
  try {
    text = readText(file);
  } catch (cause) {
    throw new Error(`config file "${file}" cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
  let position: string;
  try {
    return JSON.parse(text);
  } catch (error) {
    position = /at position \d+/.exec(String(error))?.[0] ?? '';
  }
  // Without the parser's own error: it quotes what it read, which is a token when the wrong file was named.
  throw new Error(`config file "${file}" is not valid JSON ${position}`.trim());
}

/** Nothing in place of a value is mostly a variable that was never filled; to go on without a token would be wrong. */
function present(label: string, texts: readonly string[]): string[] {
  const trimmed = texts.map((text) => text.trim());
  if (trimmed.length === 0 || trimmed.includes('')) throw new Error(`${label} is empty; give it a value or leave it out`);
  return trimmed;
}

function isRepeatable(flag: string): boolean {
  return ['list', 'files'].includes(serveOptions.get(flag)?.kind ?? '');
}

function isPath(flag: string): boolean {
  return ['file', 'files'].includes(serveOptions.get(flag)?.kind ?? '');
}

function flagNames(): string[] {
  return [...serveOptions].flatMap(([flag, { kind }]) => (kind === 'switch' ? [`--${flag}`, `--no-${flag}`] : [`--${flag}`]));
}

function suggestion(mistyped: string, names: readonly string[]): string {
  const nearest = closestName(mistyped, names);
  return nearest === undefined ? '' : `; did you mean ${nearest}?`;
}
