// Reads and prints the addresses of `sluice forward`: [HOST:]PORT or the path of a Unix socket, on either side.

import type { LocalAddress, RemoteAddress } from '../client/index.js';
import { UsageError } from './command.js';

export interface ForwardWord {
  readonly local: LocalAddress;
  readonly remote: RemoteAddress;
}

type Address = { readonly port: number; readonly host?: string } | { readonly path: string };

const highestPort = 65_535;

/** A port alone is the same on both sides. Throws UsageError. */
export function parseForward(word: string): ForwardWord {
  const alone = parseAddress(word);
  const [local, remote] = alone !== undefined && isPlainPort(alone) ? [alone, alone] : splitForward(word);
  if (local === undefined || remote === undefined) {
    throw new UsageError(
      `cannot read "${word}"; expected LOCAL:REMOTE, as in 8080:3000, 0:db.internal:5432 or /tmp/app.sock:3000`,
    );
  }
  if ('port' in remote && remote.port === 0)
    throw new UsageError(`the remote port of "${word}" must be from 1 to ${highestPort}`);
  if ('path' in remote && !remote.path.startsWith('/')) throw new UsageError(`the remote path of "${word}" must be absolute`);
  return { local, remote };
}

/** As in the output: 127.0.0.1:8080, [::1]:8080 or a path. */
export function addressText(address: Address): string {
  if ('path' in address) return address.path;
  const { host = 'localhost', port } = address;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Splits at the first colon with an address on both sides; a path may contain further ones. */
function splitForward(word: string): readonly [Address?, Address?] {
  for (let at = word.indexOf(':'); at >= 0; at = word.indexOf(':', at + 1)) {
    const [local, remote] = [parseAddress(word.slice(0, at)), parseAddress(word.slice(at + 1))];
    if (local !== undefined && remote !== undefined) return [local, remote];
  }
  return [];
}

function isPlainPort(address: Address): boolean {
  return 'port' in address && address.host === undefined;
}

/** A host contains something other than digits, so that 1:2:3 is not a guess. */
const hostAndPort = /^(?:(?:\[(?<ipv6>[\da-f:.]+)\]|(?<name>(?=.*[^\d:])[\w.-]+)):)?(?<port>\d{1,5})$/i;

function parseAddress(text: string): Address | undefined {
  if (/^\.{0,2}\//.test(text)) return { path: text };
  const { ipv6, name, port } = hostAndPort.exec(text)?.groups ?? {};
  if (port === undefined || Number(port) > highestPort) return undefined;
  const host = ipv6 ?? name;
  return { port: Number(port), ...(host === undefined ? {} : { host }) };
}
