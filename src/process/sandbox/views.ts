// What a policy lets a command see: which paths it may read, which it may write, and which are not there for it. Does not know
// how that is enforced.

import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { shownValue } from '../../base/shown-value.js';
import { type SandboxPolicy, execError } from '../../protocol/index.js';
import { type View, everywhere } from './bubblewrap.js';
import { protectedIn, protectedLinkIn } from './protected-paths.js';
import { errnoOf } from '../start/spawn-failure.js';

/** The policies under which there is a sandbox. */
export type EnclosingPolicy = Exclude<SandboxPolicy, { type: 'dangerFullAccess' }>;

export interface Surroundings {
  readonly cwd: Folder;
  /** The server's folder for temporary files, if it names one. The command's own must not decide what it may write. */
  readonly tmpdir: string | undefined;
  readonly hidden: readonly string[];
}

/** Where a folder is said to be, and where it is when every link is followed. */
export interface Folder {
  readonly path: string;
  readonly real: string;
}

/** Nothing of these is handed in: a sandbox has its own, or leaves them as they are. Shared memory is a folder like others. */
const ownGround = ['/dev', '/proc', '/sys'];

/**
 * Real paths at which the view changes on the way down from the root folder, ancestors first. Throws `ExecError` invalidParams for a
 * cwd or a root that cannot be handed in; folders for temporary files are left out instead.
 */
export function viewsFor(policy: EnclosingPolicy, surroundings: Surroundings): Map<string, View> {
  const { cwd } = surroundings;
  const hidden = surroundings.hidden.flatMap((path) => realPath(path) ?? []);
  const sockets = socketFolders().flatMap((path) => folderAt(path)?.real ?? []);
  const writable = writableFolders(policy, surroundings, { hidden, sockets });
  const entries = (untouchable: readonly string[]) => [
    ...everywhere,
    ...seen('hide', sockets),
    ...seen('read', [...indispensable(), cwd.real, ...untouchable]),
    ...seen('write', writable),
    ...seen('read', writable.includes('/') ? ['/sys'] : []),
    ...seen('hide', hidden),
  ];
  const views = changes(entries([]));
  // A file of git may name any folder: what is hidden must not be handed in because of it.
  const untouchable = writable.flatMap(protectedIn).flatMap((path) => realPath(path) ?? []);
  return fastened(changes(entries(untouchable.filter((path) => viewOf(path, views) === 'write'))));
}

/** Throws for a named folder that cannot be handed in, also when it is only to be read. */
function writableFolders(policy: EnclosingPolicy, { cwd, tmpdir }: Surroundings, covers: Covers): string[] {
  const named = [cwd, ...rootsOf(policy)];
  const temporary = temporaryFolders(policy, tmpdir);
  const unlinked = policy.type === 'readOnly' ? [] : [...named, ...temporary].filter(({ path, real }) => path === real);
  const obstacle = (folder: Folder) =>
    coverOf(folder.real, covers) ??
    detourOf(folder, unlinked) ??
    (policy.type === 'readOnly' ? undefined : replaceableIn(folder.real));
  for (const folder of named) {
    const problem = obstacle(folder);
    if (problem !== undefined) throw invalid(`"${folder.path}" cannot be used in a sandbox: ${problem}`);
  }
  if (policy.type === 'readOnly') return [];
  return [...named, ...temporary.filter((each) => obstacle(each) === undefined)].map(({ real }) => real);
}

export function viewOf(path: string, views: ReadonlyMap<string, View>): View | undefined {
  const view = views.get(path);
  return view !== undefined || path === '/' ? view : viewOf(dirname(path), views);
}

/** Undefined for what is no folder or cannot be reached. */
export function folderAt(path: string): Folder | undefined {
  const real = realPath(path);
  const isFolder = real !== undefined && statSync(real, { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder ? { path: resolve(path), real } : undefined;
}

/** Undefined for what does not exist or cannot be reached. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/** The last word on a path counts, and only if it says something new. */
function changes(entries: readonly (readonly [string, View])[]): Map<string, View> {
  const views = new Map<string, View>();
  for (const [path, view] of byDepth(new Map(entries))) {
    if (viewOf(path, views) !== view) views.set(path, view);
  }
  return views;
}

/**
 * Writable folders above something hidden or read-only get a view of their own, though it is the same: what has one cannot be
 * renamed, and a command could otherwise move what is hidden to where a later command finds it, or put its own in the place of
 * what it may only read.
 */
function fastened(views: ReadonlyMap<string, View>): Map<string, View> {
  const closed = [...views].filter(([, view]) => view !== 'write');
  const above = closed.flatMap(([path]) => ancestorsOf(path)).filter((path) => viewOf(path, views) === 'write');
  return byDepth(new Map([...views, ...seen('write', above)]));
}

function byDepth(views: ReadonlyMap<string, View>): Map<string, View> {
  return new Map([...views].toSorted(([one], [other]) => one.length - other.length));
}

function seen(view: View, paths: readonly string[]): (readonly [string, View])[] {
  return paths.map((path) => [path, view]);
}

interface Covers {
  readonly hidden: readonly string[];
  readonly sockets: readonly string[];
}

function coverOf(real: string, covers: Covers): string | undefined {
  const ground = ownGround.find((path) => isWithin(real, path));
  if (ground !== undefined && !isWithin(real, '/dev/shm')) return `nothing of ${ground} is handed in`;
  const cover = covers.sockets.find((path) => path === real) ?? covers.hidden.find((path) => isWithin(real, path));
  return cover === undefined ? undefined : `"${cover}" is hidden`;
}

/** A link in a writable folder may be the work of an earlier command: it must not lead to more than that one was allowed. */
function detourOf({ path, real }: Folder, writable: readonly Folder[]): string | undefined {
  if (writable.some((folder) => isWithin(real, folder.real))) return undefined;
  const way = ancestorsOf(path).map((ancestor) => realPath(ancestor) ?? ancestor);
  const left = writable.find((folder) => way.some((step) => isWithin(step, folder.real)));
  return left === undefined ? undefined : `a link in "${left.real}" leads to "${real}"; name that instead`;
}

function replaceableIn(folder: string): string | undefined {
  const link = protectedLinkIn(folder);
  return link === undefined ? undefined : `"${link}" is a link, which the command could replace; make it a folder`;
}

/**
 * Where programs listen that would do anything for whoever connects: the system's services, containers, displays, terminal
 * multiplexers. With a network, a read-only file system does not keep a command from connecting.
 */
function socketFolders(): string[] {
  return ['/run', '/var/run', '/tmp/.X11-unix', '/tmp/.ICE-unix', `/tmp/tmux-${userId()}`];
}

/** Where a Sluice of this user may listen, now or later: the folders that the command line takes for the server in the background. */
export function runtimeFolders(env: Readonly<Record<string, string | undefined>>): string[] {
  const own = [env['TMPDIR'], env['TMP'], env['TEMP'], '/tmp'].map((folder) => [folder, `sluice-${userId()}`] as const);
  const folders = [[env['XDG_RUNTIME_DIR'], 'sluice'] as const, ...own];
  return folders.flatMap(([folder, name]) => (folder !== undefined && isAbsolute(folder) ? [join(folder, name)] : []));
}

function userId(): number {
  return process.getuid?.() ?? 0;
}

/** What may lie in a hidden folder and yet is needed: the addresses of name servers, and all programs of a NixOS. */
function indispensable(): string[] {
  return [realPath('/etc/resolv.conf') ?? '', '/run/current-system'].filter((path) => existsSync(path));
}

function rootsOf(policy: EnclosingPolicy): Folder[] {
  if (policy.type === 'readOnly') return [];
  return (policy.writableRoots ?? []).map((root) => {
    if (!isAbsolute(root)) throw invalid(`writable roots must be absolute paths, got ${shownValue(root)}`);
    if (realPath(root) === undefined) throw invalid(`writable root ${shownValue(root)} does not exist or cannot be reached`);
    const folder = folderAt(root);
    if (folder === undefined) throw invalid(`writable root ${shownValue(root)} is not a folder`);
    return folder;
  });
}

function temporaryFolders(policy: EnclosingPolicy, tmpdir: string | undefined): Folder[] {
  if (policy.type === 'readOnly') return [];
  const shared = policy.excludeSlashTmp === true ? undefined : folderAt('/tmp');
  const own = policy.excludeTmpdirEnvVar === true || tmpdir === undefined || !isAbsolute(tmpdir) ? undefined : folderAt(tmpdir);
  // No command could have made a link of /tmp.
  return [...(shared === undefined ? [] : [{ ...shared, path: shared.real }]), ...(own === undefined ? [] : [own])];
}

function ancestorsOf(path: string): string[] {
  return path === '/' ? [] : [dirname(path), ...ancestorsOf(dirname(path))];
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? folder : `${folder}/`);
}

function invalid(problem: string) {
  return execError('invalidParams', { problem });
}
