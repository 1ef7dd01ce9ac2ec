// Finds the process of a caller behind a listening socket. Reads the descriptors of the caller's own process trees and of nothing else.

import { readdirSync, readlinkSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ListeningPort } from '../../protocol/index.js';
import type { Identity, SessionTable } from '../session-table.js';
import type { ListeningSocket } from './listening-sockets.js';

/** Descriptors looked at before other work gets its turn: about a millisecond. */
const descriptorsPerTurn = 256;

export interface Caller {
  readonly sessions: SessionTable;
  readonly identity: Identity;
}

export type Owner = Required<Pick<ListeningPort, 'pid' | 'processId' | 'sessionId'>>;

export interface Owners {
  readonly byInode: ReadonlyMap<string, Owner>;
  /** False when a live process may have been missed. */
  readonly isCertain: boolean;
}

/** Whether the caller has a process that may listen. One that has ended may have left a daemon. */
export function hasProcesses({ sessions, identity }: Caller): boolean {
  return sessions.visibleTo(identity).some(({ processes }) => processes.list().some((each) => !each.isTreeGone));
}

/** Looks until every one of these sockets has an owner, or every process was looked at. */
export async function findOwners({ sessions, identity }: Caller, sockets: readonly ListeningSocket[]): Promise<Owners> {
  const wanted = new Set(sockets.map(({ inode }) => inode));
  const byInode = new Map<string, Owner>();
  let isCertain = true;
  let looked = 0;
  for (const { id: sessionId, processes } of sessions.visibleTo(identity)) {
    for (const each of processes.list()) {
      if (wanted.size === 0) return { byInode, isCertain };
      if (each.isTreeGone) continue;
      const look = await each.tree.look('ofThisTurn');
      isCertain &&= look.isCertain;
      for (const { pid } of look.members) {
        for (const inode of socketsOf(pid)) {
          if (wanted.delete(inode)) byInode.set(inode, { pid, processId: each.id, sessionId });
          looked += 1;
          if (looked % descriptorsPerTurn === 0) await nextTurn();
        }
      }
    }
  }
  return { byInode, isCertain };
}

/** The inodes of the sockets that a process has open; none when it has ended, or belongs to another user. */
function* socketsOf(pid: number): Generator<string> {
  const folder = `/proc/${pid}/fd`;
  for (const fd of namesIn(folder)) {
    const [, inode = ''] = /^socket:\[(\d+)\]$/.exec(targetOf(`${folder}/${fd}`)) ?? [];
    yield inode;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // it has ended, or may not be looked at
  }
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return ''; // closed since
  }
}
