// What --listen takes, read into what a listener is bound to.

import { isIP } from 'node:net';
import type { Bind } from '../server/auth/index.js';

/** The kernel keeps 108 bytes for the path of a socket, one of them for its end. */
const longestSocketPath = 107;

/** Throws when it is none of the forms, and names what would be right. */
export function parseListenUrl(url: string): Bind {
  if (url === 'stdio' || url === 'stdio://') return { kind: 'stdio' };
  if (url.startsWith('unix:')) return { kind: 'unix', path: socketPathIn(url) };
  if (/^wss?:/.test(url)) return networkBindIn(url);
  throw new Error(`unsupported listen URL "${url}"; expected ws://IP:PORT, wss://IP:PORT, unix:///PATH or stdio`);
}

function socketPathIn(url: string): string {
  const path = /^unix:\/\/(?<path>\/[^\0]+)$/.exec(url)?.groups?.['path'];
  if (path === undefined)
    throw new Error(`invalid listen URL "${url}"; expected unix:// and an absolute path, as in unix:///run/sluice.sock`);
  const bytes = new TextEncoder().encode(path).length;
  if (bytes <= longestSocketPath) return path;
  throw new Error(
    `invalid listen URL "${url}"; the path of a socket has at most ${longestSocketPath} bytes, this one has ${bytes}`,
  );
}

function networkBindIn(url: string): Bind {
  const { scheme, host, v6, port } =
    /^(?<scheme>wss?):\/\/(?:\[(?<v6>[^\]]+)\]|(?<host>[^:/[\]]+)):(?<port>\d{1,5})\/?$/.exec(url)?.groups ?? {};
  const address = v6 ?? host ?? '';
  const portNumber = Number(port);
  if ((scheme === 'ws' || scheme === 'wss') && isIP(address) === (v6 === undefined ? 4 : 6) && portNumber <= 65_535) {
    return { kind: 'websocket', scheme, host: address, port: portNumber };
  }
  throw new Error(`invalid listen URL "${url}"; expected an IP address and a port, as in ws://127.0.0.1:4500 or ws://[::1]:4500`);
}
