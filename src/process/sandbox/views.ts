// What a policy lets a command see: which paths it may read, which it may write, and which are hidden from it. Does not know how that
// is enforced.

import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { shownValue } from '../../base/shown-value.js';
import { type SandboxPolicy, execError } from '../../protocol/index.js';
import { type View, everywhere } from './bubblewrap.js';
import { protectedIn, protectedLinkIn } from './protected-paths.js';
import { errnoOf } from '../start/spawn-failure.js';

/** The policies that use a sandbox. */
export type EnclosingPolicy = Exclude<SandboxPolicy, { type: 'dangerFullAccess' }>;

export interface Surroundings {
  readonly cwd: Folder;
  /** The server's TMPDIR, if set. The command's own TMPDIR must not decide what the command may write. */
  readonly tmpdir: string | undefined;
  readonly hidden: readonly string[];
}

/** A folder's path as given, and its path with all links resolved. */
export interface Folder {
  readonly path: string;
  readonly real: string;
}

/** Never bound into a sandbox, which has its own or leaves them as they are. /dev/shm is the exception: it is treated like any folder. */
const ownGround = ['/dev', '/proc', '/sys'];

/**
 * The resolved paths at which the view changes on the way down from the root folder, ancestors first. Throws `ExecError` invalidParams
 * for a cwd or writable root that cannot be used; unusable folders for temporary files are left out instead.
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
  // A .git file may name any folder, so it must not make a hidden one visible.
  const untouchable = writable.flatMap(protectedIn).flatMap((path) => realPath(path) ?? []);
  return fastened(changes(entries(untouchable.filter((path) => viewOf(path, views) === 'write'))));
}

/** Throws for a named folder that cannot be used, even if it is only read. */
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

/** Undefined for a path that is not a folder or cannot be reached. */
export function folderAt(path: string): Folder | undefined {
  const real = realPath(path);
  const isFolder = real !== undefined && statSync(real, { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder ? { path: resolve(path), real } : undefined;
}

/** Undefined for a path that does not exist or cannot be reached. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/** Keeps the last view of each path, and only if it differs from the view of its parent. */
function changes(entries: readonly (readonly [string, View])[]): Map<string, View> {
  const views = new Map<string, View>();
  for (const [path, view] of byDepth(new Map(entries))) {
    if (viewOf(path, views) !== view) views.set(path, view);
  }
  return views;
}

/**
 * Gives writable folders above a hidden or read-only path a view of their own, although it changes nothing else: a mount point cannot be
 * renamed. Otherwise a command could move a hidden path to where a later command finds it, or replace a path that it may only read.
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
  if (ground !== undefined && !isWithin(real, '/dev/shm')) return `${ground} is not available in a sandbox`;
  const cover = covers.sockets.find((path) => path === real) ?? covers.hidden.find((path) => isWithin(real, path));
  return cover === undefined ? undefined : `"${cover}" is hidden`;
}

/** An earlier command may have created a link in a writable folder: it must not give access to more than that command had. */
function detourOf({ path, real }: Folder, writable: readonly Folder[]): string | undefined {
  if (writable.some((folder) => isWithin(real, folder.real))) return undefined;
  const way = ancestorsOf(path).map((ancestor) => realPath(ancestor) ?? ancestor);
  const left = writable.find((folder) => way.some((step) => isWithin(step, folder.real)));
  return left === undefined ? undefined : `a link in "${left.real}" leads to "${real}"; use that path instead`;
}

function replaceableIn(folder: string): string | undefined {
  const link = protectedLinkIn(folder);
  return link === undefined ? undefined : `"${link}" is a link, which the command could replace; make it a folder`;
}

/**
 * Folders with sockets of programs that obey any client: system services, containers, displays, terminal multiplexers. With a network,
 * a read-only file system does not keep a command from connecting.
 */
function socketFolders(): string[] {
  return ['/run', '/var/run', '/tmp/.X11-unix', '/tmp/.ICE-unix', `/tmp/tmux-${userId()}`];
}

/** Folders in which a Sluice of this user may listen, now or later: those that the command line uses for the background server. */
export function runtimeFolders(env: Readonly<Record<string, string | undefined>>): string[] {
  const own = [env['TMPDIR'], env['TMP'], env['TEMP'], '/tmp'].map((folder) => [folder, `sluice-${userId()}`] as const);
  const folders = [[env['XDG_RUNTIME_DIR'], 'sluice'] as const, ...own];
  return folders.flatMap(([folder, name]) => (folder !== undefined && isAbsolute(folder) ? [join(folder, name)] : []));
}

function userId(): number {
  return process.getuid?.() ?? 0;
}

/** Paths that are needed although they may be in a hidden folder: the name server addresses, and all programs on NixOS. */
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
  // No command could have turned /tmp into a link, so its resolved path is trusted.
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
