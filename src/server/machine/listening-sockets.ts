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

/** Between the state and the inode: queues, timer, retransmissions, user, timeout. */
const untilInode = /[\dA-F]+:[\dA-F]+ [\dA-F]+:[\dA-F]+ [\dA-F]+ +\d+ +\d+ (\d+)/y;

/** Reads only the lines of listening sockets, which may be few among thousands, and only what is needed of them. */
export function parseTable(text: string): ListeningSocket[] {
  const sockets: ListeningSocket[] = [];
  const addresses = new Map<string, string>(); // nearly all listen on the same few
  for (let at = text.indexOf(listening); at >= 0; at = text.indexOf(listening, at + 1)) {
    const begin = text.indexOf(': ', text.lastIndexOf('\n', at)) + 2;
    const [hex = '', port = ''] = text.slice(begin, text.indexOf(' ', begin)).split(':');
    untilInode.lastIndex = at + listening.length;
    const [, inode = ''] = untilInode.exec(text) ?? [];
    const address = addresses.get(hex) ?? addressOf(hex);
    addresses.set(hex, address);
    sockets.push({ address, port: Number.parseInt(port, 16), inode });
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
