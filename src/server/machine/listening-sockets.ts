// The TCP sockets on which programs of this machine listen, as Linux lists them for the server's network namespace.

import { readFile } from 'node:fs/promises';
import { endianness } from 'node:os';
import { execError } from '../../protocol/index.js';
import { usualSpelling } from '../../transport/endpoint.js';

export interface ListeningSocket {
  readonly port: number;
  readonly address: string;
  /** Identifies the socket among the descriptors of a process. */
  readonly inode: string;
}

/** TCP_LISTEN in the column of states, between spaces. */
const listening = ' 0A ';

/** Refuses where there is no such list, as on macOS. */
export async function listeningSockets(): Promise<ListeningSocket[]> {
  const [ipv4, ipv6] = await Promise.all([readTable('/proc/net/tcp'), readTable('/proc/net/tcp6')]);
  if (ipv4 === undefined) {
    throw execError('invalidRequest', { problem: 'listening ports can only be found on Linux, in /proc/net/tcp' });
  }
  return [...parseTable(ipv4), ...parseTable(ipv6 ?? '')];
}

/** Undefined when there is no such file: without IPv6, or elsewhere than on Linux. */
async function readTable(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'latin1');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Reads only the lines of listening sockets, which may be few among thousands. */
export function parseTable(text: string): ListeningSocket[] {
  const sockets: ListeningSocket[] = [];
  for (let at = text.indexOf(listening); at >= 0;) {
    const end = text.indexOf('\n', at);
    const line = text.slice(text.lastIndexOf('\n', at) + 1, end < 0 ? undefined : end);
    const [, local = '', , , , , , , , inode = ''] = line.trim().split(/ +/);
    const [address = '', port = ''] = local.split(':');
    sockets.push({ address: addressOf(address), port: Number.parseInt(port, 16), inode });
    at = end < 0 ? -1 : text.indexOf(listening, end);
  }
  return sockets;
}

/** The kernel prints the address as 32-bit words in the byte order of the machine. */
function addressOf(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  if (endianness() === 'LE') bytes.swap32();
  if (bytes.length === 4) return bytes.join('.');
  const text = bytes.toString('hex').replaceAll(/.{4}(?=.)/g, '$&:');
  return usualSpelling(text) ?? text;
}
