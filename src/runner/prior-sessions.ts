// How many sessions a program has stored for its working folder, and their total size. If a program does not start, many stored sessions
// suggest that its budget is used up. Runs its commands on the machine that the program runs on.

import { type AgentOptions, defaultEnvPolicy } from './agent-options.js';

export interface PriorSessions {
  readonly count: number;
  readonly bytes: number;
}

type Place = Pick<AgentOptions, 'client' | 'adapter' | 'cwd' | 'env' | 'envPolicy'>;

/** Limit for the shell command that prints where the sessions are, and for the one that lists them. */
const askTimeoutMs = 5_000;

/** Enough to list 30 000 sessions. If the listing is longer, they cannot be counted. */
const maxListingBytes = 4 * 1024 * 1024;

/** Matches the file of a session; its size is the fifth column of `ls -ln`. */
const sessionLine = /^-\S+\s+\d+\s+\d+\s+\d+\s+(?<bytes>\d+)\s.*\.jsonl$/;

/** Undefined when it cannot be determined. */
export async function priorSessions(place: Place): Promise<PriorSessions | undefined> {
  const { sessions } = place.adapter;
  if (sessions === undefined) return undefined;
  const [cwd = '', base = ''] =
    (await ask(place, ['sh', '-c', `pwd -P && printf "%s\\n" "${sessions.base}"`]))?.split('\n') ?? [];
  const folder = cwd === '' ? undefined : sessions.folderFor(cwd);
  if (folder === undefined || !base.startsWith('/')) return undefined;
  const listing = await ask(place, ['sh', '-c', '[ ! -d "$1" ] || ls -ln "$1"', 'sh', `${base}/${folder}`]);
  return listing === undefined ? undefined : countIn(listing);
}

/** The output of a command in the program's folder; one-shot, so that it appears in no list of processes. */
async function ask(
  { client, adapter, cwd, env = {}, envPolicy = defaultEnvPolicy }: Place,
  command: readonly string[],
): Promise<string | undefined> {
  // By default the command inherits the server's whole environment, but the program may not.
  const isInherited = (name: string) => envPolicy.inherit === 'all' || (envPolicy.inherit === 'core' && name === 'HOME');
  const own = adapter.sessions?.variables.flatMap((name) => (isInherited(name) ? [] : [[name, null] as const])) ?? [];
  const variables = { ...Object.fromEntries(own), ...env, LC_ALL: 'C' };
  try {
    const limits = { timeoutMs: askTimeoutMs, outputBytesCap: maxListingBytes };
    const { exitCode, stdout } = await client.exec(command, { cwd, env: variables, ...limits });
    return exitCode === 0 && stdout.length < maxListingBytes ? stdout : undefined;
  } catch {
    return undefined; // no such folder, no shell, or no server: starting the program will report it
  }
}

function countIn(listing: string): PriorSessions {
  const sizes = listing.split('\n').flatMap((line) => {
    const { bytes } = sessionLine.exec(line)?.groups ?? {};
    return bytes === undefined ? [] : [Number(bytes)];
  });
  return { count: sizes.length, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
}
