// What a policy lets a command see: which paths it may read, which it may write, and which are not there for it. Does not know
// how that is enforced.

import { existsSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { type SandboxPolicy, execError } from '../protocol/index.js';
import { type View, everywhere } from './bubblewrap.js';
import { errnoOf } from './spawn-failure.js';

/** The policies under which there is a sandbox. */
export type EnclosingPolicy = Exclude<SandboxPolicy, { type: 'dangerFullAccess' }>;

export interface Surroundings {
  readonly cwd: Folder;
  /** The command's own folder for temporary files, if it has one. */
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
  const named = [cwd, ...rootsOf(policy)];
  const temporary = temporaryFolders(policy, surroundings.tmpdir);
  const unlinked = policy.type === 'readOnly' ? [] : [...named, ...temporary].filter(({ path, real }) => path === real);
  const obstacle = (folder: Folder) => coverOf(folder.real, { hidden, sockets }) ?? detourOf(folder, unlinked);
  for (const folder of named) {
    const problem = obstacle(folder);
    if (problem !== undefined) throw invalid(`"${folder.path}" cannot be used in a sandbox: ${problem}`);
  }
  const writable = policy.type === 'readOnly' ? [] : [...named, ...temporary.filter((each) => obstacle(each) === undefined)];
  return fastened(
    changes([
      ...everywhere,
      ...seen('hide', sockets),
      ...seen('read', [...indispensable(), cwd.real]),
      ...seen(
        'write',
        writable.map(({ real }) => real),
      ),
      ...seen('read', writable.some(({ real }) => real === '/') ? ['/sys'] : []),
      ...seen('hide', hidden),
    ]),
  );
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
 * Writable folders above something hidden get a view of their own, though it is the same: what has one cannot be renamed, and a
 * command could otherwise move what is hidden to where a later command finds it.
 */
function fastened(views: ReadonlyMap<string, View>): Map<string, View> {
  const hidden = [...views].filter(([, view]) => view === 'hide');
  const above = hidden.flatMap(([path]) => ancestorsOf(path)).filter((path) => viewOf(path, views) === 'write');
  return byDepth(new Map([...views, ...seen('write', above)]));
}

function byDepth(views: ReadonlyMap<string, View>): Map<string, View> {
  return new Map([...views].toSorted(([one], [other]) => one.length - other.length));
}

function seen(view: View, paths: readonly string[]): (readonly [string, View])[] {
  return paths.map((path) => [path, view]);
}

function coverOf(
  real: string,
  covers: { readonly hidden: readonly string[]; readonly sockets: readonly string[] },
): string | undefined {
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

/**
 * Where programs listen that would do anything for whoever connects: the system's services, containers, displays, terminal
 * multiplexers, Sluice itself. A read-only file system keeps nobody from connecting.
 */
function socketFolders(): string[] {
  const uid = process.getuid?.() ?? 0;
  return ['/run', '/var/run', '/tmp/.X11-unix', '/tmp/.ICE-unix', `/tmp/tmux-${uid}`, `/tmp/sluice-${uid}`];
}

/** What may lie in a hidden folder and yet is needed: the addresses of name servers, and all programs of a NixOS. */
function indispensable(): string[] {
  return [realPath('/etc/resolv.conf') ?? '', '/run/current-system'].filter((path) => existsSync(path));
}

function rootsOf(policy: EnclosingPolicy): Folder[] {
  if (policy.type === 'readOnly') return [];
  return (policy.writableRoots ?? []).map((root) => {
    if (!isAbsolute(root)) throw invalid(`writable roots must be absolute paths, got "${root}"`);
    if (realPath(root) === undefined) throw invalid(`writable root "${root}" does not exist or cannot be reached`);
    const folder = folderAt(root);
    if (folder === undefined) throw invalid(`writable root "${root}" is not a folder`);
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
