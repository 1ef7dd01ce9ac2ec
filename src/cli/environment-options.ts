// The environment of a command: what is inherited, what files add, what flags add.

import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { StartOptions } from '../client/index.js';
import { type Flags, UsageError } from './command.js';

const group = 'Command';

export const environmentOptions = {
  env: {
    kind: 'list',
    short: 'e',
    placeholder: 'K=V',
    group,
    meaning: 'Set a variable; -e K passes on its value in this shell, if it is set. Repeatable.',
  },
  'env-file': {
    kind: 'list',
    placeholder: 'FILE',
    group,
    meaning: 'Set the variables in this file, one K=V per line. Repeatable.',
  },
  'inherit-env': {
    kind: 'toggle',
    group,
    meaning:
      'Give the command all variables of this shell, or only PATH, HOME and the like of the machine it runs on. ' +
      'Default: all on this machine, only those few on a named server.',
  },
} as const;

interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  /** On this machine, for this user: the command is meant to have the shell's environment. */
  readonly isLocal: boolean;
}

export function environmentOf(
  flags: Flags<typeof environmentOptions>,
  { env, isLocal }: Surroundings,
): Pick<StartOptions, 'env' | 'envPolicy'> {
  const files = flags['env-file'].flatMap((file) => Object.entries(parseEnv(readFileSync(file, 'utf8'))));
  const variables = flags.env.map((text) => readVariable(text, env));
  const set = present([...files, ...variables]);
  if (flags['inherit-env'] ?? isLocal) {
    // Inherits nothing else, because a background server may have variables that this shell does not have.
    return { envPolicy: { inherit: 'none' }, env: { ...present(Object.entries(env)), ...set } };
  }
  return { envPolicy: { inherit: 'core' }, env: set };
}

function readVariable(text: string, env: NodeJS.ProcessEnv): [string, string | undefined] {
  const [, name = '', value] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
  if (name === '') throw new UsageError(`--env needs a name, as in -e NAME=value, got "${text}"`);
  return [name, value ?? env[name]];
}

function present(variables: readonly (readonly [string, string | undefined])[]): Record<string, string> {
  return Object.fromEntries(variables.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
