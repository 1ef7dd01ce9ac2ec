// How many sessions a program has kept for the folder it is to work in, and how much they hold: many of them before a program that does
// not start point to a budget that is used up. Asked of the machine that the program runs on.

import { type AgentOptions, defaultEnvPolicy } from './agent-options.js';

export interface PriorSessions {
  readonly count: number;
  readonly bytes: number;
}

type Place = Pick<AgentOptions, 'client' | 'adapter' | 'cwd' | 'env' | 'envPolicy'>;

/** Patience with a shell that says where the sessions are, and with a listing of them. */
const askTimeoutMs = 5_000;

/** Of a listing, enough for 30 000 sessions. In a longer one they cannot be counted. */
const maxListingBytes = 4 * 1024 * 1024;

/** Ends in the name of a session's file; the size is the fifth column of `ls -ln`. */
const sessionLine = /^-\S+\s+\d+\s+\d+\s+\d+\s+(?<bytes>\d+)\s.*\.jsonl$/;

/** Undefined when that cannot be found out. */
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

/** What a command in the program's folder prints; one-shot, so that no list of processes shows it. */
async function ask(
  { client, adapter, cwd, env = {}, envPolicy = defaultEnvPolicy }: Place,
  command: readonly string[],
): Promise<string | undefined> {
  // The command gets what its server has, unless told otherwise; the program may not.
  const isInherited = (name: string) => envPolicy.inherit === 'all' || (envPolicy.inherit === 'core' && name === 'HOME');
  const own = adapter.sessions?.variables.flatMap((name) => (isInherited(name) ? [] : [[name, null] as const])) ?? [];
  const variables = { ...Object.fromEntries(own), ...env, LC_ALL: 'C' };
  try {
    const limits = { timeoutMs: askTimeoutMs, outputBytesCap: maxListingBytes };
    const { exitCode, stdout } = await client.exec(command, { cwd, env: variables, ...limits });
    return exitCode === 0 && stdout.length < maxListingBytes ? stdout : undefined;
  } catch {
    return undefined; // no such folder, no shell, or no server: the start of the program will tell
  }
}

function countIn(listing: string): PriorSessions {
  const sizes = listing.split('\n').flatMap((line) => {
    const { bytes } = sessionLine.exec(line)?.groups ?? {};
    return bytes === undefined ? [] : [Number(bytes)];
  });
  return { count: sizes.length, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
}
