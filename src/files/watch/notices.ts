// How a watch learns that something happened in a folder. A notice is only a reason to look: what has changed is found on the disk.

/** What is known about a name besides that something happened to it. Combined with `|`, because one name can have seen it all. */
export const hints = {
  /** The content or the attributes were written, even if size and times look the same as before. */
  touched: 1,
  /** Something with this name was moved elsewhere. */
  movedAway: 2,
  /** Something was moved here under this name. */
  movedHere: 4,
} as const;

export interface Follower {
  /** Something happened to a name in the folder. The name's bytes are the characters of the string (latin1). */
  named(name: string, hint: number): void;
  /** The folder itself was moved or removed. */
  selfChanged(): void;
  /** No further notices: the folder was removed or unmounted. */
  ended(): void;
  /** Look at everything: `lost` because notices were lost, `due` because this is how changes are found here. */
  lookAtAll(why: 'lost' | 'due'): void;
}

export interface Notices {
  /**
   * Calls `follower` about the folder behind this open descriptor, until the returned function is called; the descriptor itself is needed
   * only now. Undefined if the folder may not be read.
   * Throws a `FileError` if the system has no room for another one.
   */
  follow(descriptor: number, follower: Follower): (() => void) | undefined;
}
