// Which addresses callers may reach through the server's own methods: this machine's loopback, and hosts that the operator has opened by
// name. Judges the addresses that are then connected to, so that a name cannot point elsewhere in between.

import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { execError } from '../../protocol/index.js';
import { parseAllowedHost } from '../auth/host-policy.js';
import type { NetworkPolicy } from './machine.js';

export interface Destination {
  /** Name or IP address, IPv6 without brackets. This machine when absent. */
  readonly host?: string | undefined;
  readonly port: number;
}

export interface NetworkRule {
  readonly policy: NetworkPolicy;
  /** All addresses of a name. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/** Both, because a program may listen on only one of them. */
const ownAddresses = ['127.0.0.1', '::1'];

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4'); // also matches ::ffff:127.0.0.1
loopback.addAddress('::1', 'ipv6');

/** The IP addresses to connect to, in order of preference. Throws networkRefused, or networkFailed for an unknown name. */
export async function resolveAllowed({ host, port }: Destination, rule: NetworkRule): Promise<readonly string[]> {
  if (host === undefined || host.toLowerCase() === 'localhost') return ownAddresses;
  const { policy, resolve = resolveByDns } = rule;
  const addresses = isIP(host) === 0 ? await resolve(host) : [host];
  if (isOpenedByName(host, port, policy) || (addresses.length > 0 && addresses.every(isLoopback))) return addresses;
  throw execError('networkRefused', {
    problem: `this server connects callers only to its own machine; start it with --reach ${bracketed(host)} to allow ${bracketed(host)}:${port}`,
  });
}

function isLoopback(address: string): boolean {
  return loopback.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

function isOpenedByName(host: string, port: number, { hosts = [] }: NetworkPolicy): boolean {
  if (hosts.length === 0) return false;
  const asked = nameOf(host);
  return hosts.map(parseAllowedHost).some((each) => each.name === asked && (each.port ?? port) === port);
}

/** In the spelling of an allowed host; undefined for what can be none. */
function nameOf(host: string): string | undefined {
  try {
    return parseAllowedHost(bracketed(host)).name;
  } catch {
    return undefined;
  }
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

async function resolveByDns(host: string): Promise<readonly string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch (cause) {
    const errno = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
    const problem = `cannot resolve "${host}"${errno === undefined ? '' : `: ${errno}`}`;
    throw execError('networkFailed', { problem, ...(errno === undefined ? {} : { errno }) }, { cause });
  }
}
