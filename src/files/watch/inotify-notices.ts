// Notices from the kernel: one inotify descriptor for all watches, because a user may open only 128 of them. It is opened for the first
// folder and closed with the last.

import type { Clock } from '../../base/clock.js';
import { type Inotify, type InotifyDescriptor, inotifyError, openInotify } from './inotify.js';
import { type Follower, type Notices, hints } from './notices.js';

/** From linux/inotify.h. */
const event = {
  modify: 0x2,
  attributes: 0x4,
  movedFrom: 0x40,
  movedTo: 0x80,
  create: 0x100,
  delete: 0x200,
  deleteSelf: 0x400,
  moveSelf: 0x800,
  overflow: 0x4000,
  ignored: 0x8000,
} as const;

const onlyFolders = 0x0100_0000;
/** Without this, a file that was removed but is still open would be reported under its old name. */
const notUnlinked = 0x0400_0000;

const mask =
  event.modify |
  event.attributes |
  event.movedFrom |
  event.movedTo |
  event.create |
  event.delete |
  event.deleteSelf |
  event.moveSelf;

/** Of an event, before its name. */
const headerBytes = 16;

interface Followed {
  readonly follower: Follower;
}

export class InotifyNotices implements Notices {
  readonly #inotify: Inotify;
  readonly #clock: Clock;
  #descriptor: InotifyDescriptor | undefined;
  /** By watch descriptor, which the kernel shares between all who follow the same folder. */
  readonly #followed = new Map<number, Set<Followed>>();

  constructor(inotify: Inotify, clock: Clock) {
    this.#inotify = inotify;
    this.#clock = clock;
  }

  follow(descriptor: number, follower: Follower): (() => void) | undefined {
    this.#descriptor ??= openInotify(this.#inotify, this.#clock, (events) => this.#received(events));
    const watch = this.#inotify.inotify_add_watch(
      this.#descriptor.fd,
      `/proc/self/fd/${descriptor}`,
      mask | onlyFolders | notUnlinked,
    );
    if (watch < 0) {
      const errno = this.#inotify.errno();
      this.#closeIfUnused();
      if (errno === 'EACCES') return undefined;
      throw inotifyError(errno);
    }
    const followed = { follower };
    const followers = this.#followed.get(watch) ?? new Set();
    this.#followed.set(watch, followers.add(followed));
    return () => this.#unfollow(watch, followed);
  }

  #unfollow(watch: number, followed: Followed): void {
    const followers = this.#followed.get(watch);
    if (!followers?.delete(followed) || followers.size > 0) return;
    this.#followed.delete(watch);
    // Fails if the folder has just been removed, and its watch with it.
    if (this.#descriptor !== undefined) this.#inotify.inotify_rm_watch(this.#descriptor.fd, watch);
    this.#closeIfUnused();
  }

  #closeIfUnused(): void {
    if (this.#followed.size > 0) return;
    this.#descriptor?.close();
    this.#descriptor = undefined;
  }

  #received(events: Buffer): void {
    for (let at = 0; at < events.length;) {
      const watch = events.readInt32LE(at);
      const bits = events.readUInt32LE(at + 4);
      const nameAt = at + headerBytes;
      at = nameAt + events.readUInt32LE(at + 12);
      if ((bits & event.overflow) === 0) this.#happened(watch, bits, nameIn(events.subarray(nameAt, at)));
      else for (const followers of this.#followed.values()) for (const { follower } of followers) follower.lookAtAll('lost');
    }
  }

  #happened(watch: number, bits: number, name: string): void {
    const followers = this.#followed.get(watch);
    if (followers === undefined) return; // about a folder that is no longer followed
    if ((bits & event.ignored) !== 0) {
      this.#followed.delete(watch);
      for (const { follower } of followers) follower.ended();
      this.#closeIfUnused();
    } else if (name !== '') {
      const hint = hintOf(bits);
      for (const { follower } of followers) follower.named(name, hint);
    } else if ((bits & (event.deleteSelf | event.moveSelf)) !== 0) {
      for (const { follower } of followers) follower.selfChanged();
    }
  }
}

/** The kernel pads a name with NULs. */
function nameIn(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString('latin1', 0, end < 0 ? bytes.length : end);
}

function hintOf(bits: number): number {
  if ((bits & (event.modify | event.attributes)) !== 0) return hints.touched;
  if ((bits & event.movedFrom) !== 0) return hints.movedAway;
  return (bits & event.movedTo) === 0 ? 0 : hints.movedHere;
}
