// Draws trees of files, and calls on them, from random numbers: ordinary ones, and those on which servers tend to differ.

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';

/** @import { Random } from '../../../dist-test/support/random.js' */
/** @typedef {{ readonly method: string, readonly params: Record<string, unknown> }} Call */

const slash = Buffer.from('/');

/** Names of files and folders. One of them is not UTF-8. */
const names = ['a', 'b', 'c.txt', '.hidden', 'sp ace', 'é', 'per%41cent', 'que?ry', 'ha#sh', 'back\\slash', 'x'.repeat(255)].map(
  (name) => Buffer.from(name),
);
const oddNames = [Buffer.from([0x66, 0xff, 0x6f]), Buffer.from('new\nline')];

const modes = [0o644, 0o600, 0o755, 0o444, 0o4755];

/** @param {Buffer} folder @param {Buffer} name */
const join = (folder, name) => Buffer.concat([folder, slash, name]);

/**
 * Plans a tree: each step is carried out below every twin, so that all are equal.
 * @param {Random} random
 */
export function drawTree(random) {
  /** @type {Buffer[]} */
  const folders = [Buffer.alloc(0)];
  /** @type {Buffer[]} */
  const paths = [];
  /** @type {((root: Buffer) => void)[]} */
  const steps = [];
  const count = random.whole(3, 14);
  for (let at = 0; at < count; at += 1) {
    const path = join(random.pick(folders), random.pick(random.chance(0.1) ? oddNames : names));
    if (paths.some((each) => each.equals(path))) continue;
    paths.push(path);
    const kind = random.below(10);
    if (kind < 4) {
      folders.push(path);
      steps.push((root) => mkdirSync(Buffer.concat([root, path])));
    } else if (kind < 7) {
      const content = Buffer.alloc(random.chance(0.1) ? 1_048_576 + random.below(3) : random.size(5_000), 97);
      const mode = random.pick(modes);
      steps.push((root) => {
        writeFileSync(Buffer.concat([root, path]), content);
        chmodSync(Buffer.concat([root, path]), mode);
      });
    } else if (kind < 9) {
      const target = drawTarget(random, paths);
      steps.push((root) => symlinkSync(target(root), Buffer.concat([root, path])));
    } else {
      // A name that is not UTF-8 cannot be an argument; there is no such pipe then, in any of the twins.
      steps.push((root) => void spawnSync('mkfifo', [Buffer.concat([root, path]).toString()]));
    }
  }
  return { paths, build: (/** @type {Buffer} */ root) => steps.forEach((step) => step(root)) };
}

/** @param {Random} random @param {readonly Buffer[]} paths @returns {(root: Buffer) => Buffer} */
function drawTarget(random, paths) {
  if (random.chance(0.2)) {
    const text = Buffer.from(random.pick(['nowhere', '.', '..', '../nowhere/x', 'a/b']));
    return () => text;
  }
  const target = random.pick(paths);
  if (random.chance(0.4)) return (root) => Buffer.concat([root, target]);
  return () => target.subarray(target.lastIndexOf('/') + 1);
}

/** @param {Random} random @param {readonly Buffer[]} paths */
export function drawCalls(random, paths) {
  return Array.from({ length: random.whole(6, 14) }, () => drawCall(random, paths));
}

/** @param {Random} random @param {readonly Buffer[]} paths @returns {(root: Buffer) => Call} */
function drawCall(random, paths) {
  const [path, other] = [drawPath(random, paths), drawPath(random, paths)];
  const follow = random.chance(0.3) ? { followSymlinks: random.chance(0.3) } : {};
  const sandbox = random.chance(0.2) ? { sandbox: random.chance(0.5) ? null : unconfined } : {};
  const method = random.pick(methods);
  const more = membersOf(random, method);
  return (root) => {
    if (method === 'fs/copy')
      return { method, params: { sourcePath: path(root), destinationPath: other(root), ...more, ...sandbox } };
    if (!methodsWithPath.has(method)) return { method, params: more };
    return { method, params: { path: path(root), ...more, ...(methodsWithFollow.has(method) ? follow : {}), ...sandbox } };
  };
}

const unconfined = { permissions: { type: 'disabled' }, windowsSandboxLevel: 'disabled', useLegacyLandlock: false };
const methods = [
  ...['fs/readFile', 'fs/writeFile', 'fs/createDirectory', 'fs/getMetadata', 'fs/getMetadata', 'fs/canonicalize'],
  ...['fs/readDirectory', 'fs/walk', 'fs/remove', 'fs/copy', 'fs/copy', 'fs/open', 'fs/readBlock', 'fs/writeBlock', 'fs/close'],
];
const methodsWithFollow = new Set(['fs/readFile', 'fs/writeFile', 'fs/createDirectory', 'fs/getMetadata', 'fs/remove']);
const methodsWithPath = new Set([...methodsWithFollow, 'fs/canonicalize', 'fs/readDirectory', 'fs/walk', 'fs/open']);

/** @param {Random} random @param {string} method @returns {Record<string, unknown>} */
function membersOf(random, method) {
  const handleId = random.pick(['h', 'i', '', 'x'.repeat(32), 'x'.repeat(33)]);
  const base64 = random.pick(['', 'aGVsbG8K', 'YQ==', 'YQ', '***', 'YR==', 'YWJj'.repeat(1_000)]);
  switch (method) {
    case 'fs/writeFile':
      return { dataBase64: base64 };
    case 'fs/createDirectory':
      return random.chance(0.5) ? {} : { recursive: random.chance(0.4) };
    case 'fs/remove':
      return {
        ...(random.chance(0.5) ? {} : { recursive: random.chance(0.4) }),
        ...(random.chance(0.5) ? {} : { force: false }),
      };
    case 'fs/copy':
      return { recursive: random.chance(0.6) };
    case 'fs/walk':
      return { options: drawWalkOptions(random) };
    case 'fs/open':
      return { handleId, ...(random.chance(0.4) ? { mode: random.pick(['read', 'replace', 'append']) } : {}) };
    case 'fs/readBlock':
      return {
        handleId,
        offset: random.pick([0, 1, 5, 4_999, 1_048_576, 9e15]),
        len: random.pick([0, 1, 5, 4_096, 1_048_576, 1_048_577]),
      };
    case 'fs/writeBlock':
      return { handleId, offset: random.pick([0, 3, 70_000]), chunk: base64 };
    case 'fs/close':
      return { handleId };
    default:
      return {};
  }
}

/** @param {Random} random */
function drawWalkOptions(random) {
  return {
    maxDepth: random.pick([0, 1, 2, 6, 64, 65]),
    maxDirectories: random.pick([0, 1, 2, 3, 100, 10_000, 10_001]),
    maxEntries: random.pick([0, 1, 2, 3, 5, 100, 50_000, 50_001]),
    followDirectorySymlinks: random.chance(0.5),
    ...(random.chance(0.5) ? { pruneHiddenDirectories: random.chance(0.5) } : {}),
  };
}

/** @param {Random} random @param {readonly Buffer[]} paths @returns {(root: Buffer) => string} the URI */
function drawPath(random, paths) {
  const base = random.chance(0.03) ? Buffer.alloc(0) : random.pick(paths);
  const path = random.chance(0.25) ? join(base, random.pick(names)) : base;
  const ending =
    path.length > 0 && random.chance(0.1) ? random.pick(['/', '/.', '/..', '//', '/%2e%2e/a', '?x', '#x', '%00', '/a/b/c']) : '';
  const start = random.chance(0.06)
    ? random.pick(['file://localhost', 'file://host', 'http://', '', 'FILE://', 'file:', ' file://'])
    : 'file://';
  return (root) => `${start}${encoded(Buffer.concat([root, path]))}${ending}`;
}

/** @param {Buffer} path */
function encoded(path) {
  return path
    .toString('latin1')
    .replaceAll(/[^\w/.-]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
}

/**
 * Whether the call writes to a named pipe without a reader: Codex's server then answers no call at all any more, or, for `fs/open`, with
 * the system's error.
 * @param {Call} call
 */
export function writesToPipe({ method, params }) {
  if (method === 'fs/writeFile' || (method === 'fs/open' && params['mode'] === 'replace'))
    return hasPipe(params['path'], 'itself');
  return method === 'fs/copy' && hasPipe(params['destinationPath'], 'below');
}

/** @param {unknown} uri @param {'itself' | 'below'} where */
function hasPipe(uri, where) {
  if (typeof uri !== 'string' || !URL.canParse(uri)) return false;
  const text = new URL(uri).pathname.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  const path = Buffer.from(text.replace(/\/+$/, ''), 'latin1');
  return isPipe(path) || (where === 'below' && hasPipeBelow(path));
}

/** @param {Buffer} path */
function isPipe(path) {
  try {
    return statSync(path).isFIFO();
  } catch {
    return false; // there is nothing, or nothing that can be opened
  }
}

/** @param {Buffer} folder @returns {boolean} */
function hasPipeBelow(folder) {
  /** @type {Buffer[]} */
  let entries = [];
  try {
    entries = readdirSync(folder, { encoding: 'buffer' }).map((name) => join(folder, name));
  } catch {
    return false; // no folder
  }
  return entries.some((path) => isPipe(path) || (lstatSync(path).isDirectory() && hasPipeBelow(path)));
}

/**
 * A text for everything below a folder. Times are left out.
 * @param {Buffer} root
 * @param {Buffer} [path] below the root
 * @returns {string[]}
 */
export function snapshot(root, path = Buffer.alloc(0)) {
  const whole = Buffer.concat([root, path]);
  const stats = lstatSync(whole, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  const shown = `${encoded(path)} ${(stats.mode & 0o7777).toString(8)}`;
  if (stats.isDirectory()) {
    const children = readdirSync(whole, { encoding: 'buffer' }).toSorted((one, other) => one.compare(other));
    return [`${shown} folder`, ...children.flatMap((name) => snapshot(root, join(path, name)))];
  }
  if (stats.isSymbolicLink())
    return [
      `${shown} -> ${readlinkSync(whole, { encoding: 'buffer' }).toString('latin1').replace(root.toString('latin1'), '/R')}`,
    ];
  return [
    stats.isFile() ? `${shown} file ${stats.size} ${readFileSync(whole).subarray(0, 64).toString('base64')}` : `${shown} other`,
  ];
}
