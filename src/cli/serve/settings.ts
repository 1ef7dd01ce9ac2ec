// Gathers settings from the command line, the environment and a config file, as text: a flag overrides a variable, a variable overrides
// the file. Knows which options there are, not what their values mean.

import path from 'node:path';
import * as v from 'valibot';
import { closestName } from '../closest-name.js';
import { type Setting, type Settings, UsageError, type Word, placeholderOf, settingsIn } from '../command.js';
import { envNameOf, fileNameOf, serveOptions } from './options.js';

export interface Sources {
  /** The command line. */
  readonly words: readonly Word[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads a config file; throws when it cannot. */
  readonly readText: (file: string) => string;
}

export interface Gathered {
  readonly settings: Settings;
  /** For the log: variables that look like settings but are not. */
  readonly warnings: readonly string[];
}

export function gatherSettings({ words, env, readText }: Sources): Gathered {
  const flags = fromFlags(words);
  const variables = fromEnvironment(env);
  const config = (flags.get('config') ?? variables.get('config'))?.texts.at(-1);
  const file = config === undefined ? [] : fromFile(config, readText);
  const settings = new Map([...file, ...variables, ...flags]);
  return { settings, warnings: unknownVariables(env) };
}

function fromFlags(words: readonly Word[]): Settings {
  for (const word of words) {
    if (word.kind === 'operand') throw new UsageError(`serve takes no argument "${word.text}"; use --listen for an address`);
  }
  const settings = settingsIn(words);
  for (const [flag, { label, texts }] of settings) {
    const option = serveOptions.get(flag);
    // Usually a shell variable that was never set.
    if (option !== undefined && texts.includes(''))
      throw new UsageError(`${label} needs a value, as in ${label} ${placeholderOf(option)}`);
  }
  return settings;
}

function fromEnvironment(env: Sources['env']): Settings {
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
  const others = ['SLUICE_URL', 'SLUICE_TOKEN', 'SLUICE_CA']; // for clients
  return Object.keys(env)
    .filter((name) => name.startsWith(prefix) && env[name] !== undefined && ![...known, ...others].includes(name))
    .map((name) => {
      // Without the prefix, which all of them have in common, so that it does not make every name seem near.
      const nearest = closestName(withoutPrefix(name), known.map(withoutPrefix));
      return `environment variable ${name} is not a setting of serve${nearest === undefined ? '' : `; did you mean ${prefix}${nearest}?`}`;
    });
}

const prefix = 'SLUICE_';

function withoutPrefix(name: string): string {
  return name.slice(prefix.length);
}

const scalar = v.union([v.string(), v.number(), v.boolean()]);
const fileContent = v.record(v.string(), v.union([scalar, v.array(v.string())]));

function fromFile(file: string, readText: Sources['readText']): Settings {
  const content = parseJson(file, readText);
  const parsed = v.safeParse(fileContent, Array.isArray(content) ? undefined : content); // v.record would accept a list
  if (!parsed.success) {
    const where = v.getDotPath(parsed.issues[0]) ?? undefined;
    const form = 'must be a string, number, boolean or list of strings';
    const problem = where === undefined ? 'it must contain an object' : `"${where}" ${form}`;
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
  // Leaves out the parser's own error: it quotes what it read, which is a token when the wrong file was named.
  throw new Error(`config file "${file}" is not valid JSON ${position}`.trim());
}

/** An empty value is usually a variable that was never set; continuing without a token, for example, would be wrong. */
function present(label: string, texts: readonly string[]): string[] {
  const trimmed = texts.map((text) => text.trim());
  if (trimmed.length === 0 || trimmed.includes('')) throw new Error(`${label} is empty; give it a value or leave it out`);
  return trimmed;
}

function isRepeatable(flag: string): boolean {
  return serveOptions.get(flag)?.kind === 'list';
}

function isPath(flag: string): boolean {
  return ['FILE', 'FOLDER'].includes(serveOptions.get(flag)?.placeholder ?? '');
}

function suggestion(mistyped: string, names: readonly string[]): string {
  const nearest = closestName(mistyped, names);
  return nearest === undefined ? '' : `; did you mean ${nearest}?`;
}
