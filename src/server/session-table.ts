// The table of sessions: which callers may use them, and how long a session waits for its client to reconnect.

import { randomUUID } from 'node:crypto';
import type { Clock, Timer } from '../base/clock.js';
import { asSessionId, execError } from '../protocol/index.js';
import type { Session } from './session.js';

/** Identifies a caller for limits and visibility. Without credentials, all callers share one identity. */
export interface Identity {
  readonly subject: string;
}

/** The identity of every caller when no credentials are required. */
export const anybody: Identity = { subject: 'anybody' };

/** The connection that drives a session. */
export interface Holder {
  /** Another connection has taken over the session. */
  takenOver(): void;
}

export interface SessionLimits {
  /** How long a resumable session's processes keep running after its connection is lost. */
  readonly detachGraceMs: number;
  readonly maxSessionsPerCaller: number;
  /** How long a released process stays readable after it has ended. */
  readonly keepReleasedMs: number;
}

/** Ends with its connection, waits for its client to reconnect, or has no connection and lives as long as the server. */
type Lifetime = 'connection' | 'resumable' | 'server';

interface Entry {
  readonly session: Session;
  readonly identity: Identity;
  readonly lifetime: Lifetime;
  holder: Holder | undefined;
  /** Set while its connection is lost and its client has not reconnected. */
  abandoned: { readonly grace: Timer; readonly sinceMs: number } | undefined;
}

interface Context {
  readonly clock: Clock;
  readonly limits: SessionLimits;
  readonly createSession: (id: Session['id'], limits?: { readonly keepClosedMs: number }) => Session;
}

export class SessionTable {
  readonly #context: Context;
  readonly #entries = new Map<string, Entry>();
  /** Sessions whose processes are being ended; closing the server waits for them. */
  readonly #ending = new Map<Entry, Promise<void>>();
  #isClosing = false;

  constructor(context: Context) {
    this.#context = context;
  }

  get clock(): Clock {
    return this.#context.clock;
  }

  get size(): number {
    return this.#entries.size;
  }

  all(): Session[] {
    return [...this.#entries.values()].map(({ session }) => session);
  }

  /** At the limit, ends an abandoned session of this caller to make room; throws `tooManySessions` when there is none. */
  open(identity: Identity, { isResumable, holder }: { isResumable: boolean; holder: Holder | undefined }): Session {
    // A session opened after all others were ended would never be ended itself.
    if (this.#isClosing) throw execError('sessionClosed', { sessionId: '' });
    this.#makeRoom(identity);
    const session = this.#context.createSession(asSessionId(randomUUID()));
    this.#add(session, { identity, lifetime: isResumable ? 'resumable' : 'connection', holder });
    return session;
  }

  /** The session that holds processes released by the caller's other sessions. It has no connection and ends with the server. */
  releasedSession(identity: Identity): Session {
    const known = [...this.#entries.values()].find((entry) => entry.lifetime === 'server' && isOf(identity, entry));
    if (known !== undefined) return known.session;
    const { createSession, limits } = this.#context;
    const session = createSession(asSessionId(randomUUID()), { keepClosedMs: limits.keepReleasedMs });
    this.#add(session, { identity, lifetime: 'server', holder: undefined });
    return session;
  }

  /** Whether the session holds released processes. */
  isReleasedSession(session: Session): boolean {
    return this.#entries.get(session.id)?.lifetime === 'server';
  }

  /** Takes over a session whose connection was lost or, with `takeover`, one that is still attached. */
  resume(id: string, identity: Identity, { holder, takeover }: { holder: Holder; takeover: boolean }): Session {
    const entry = this.#entries.get(id);
    // To this caller, another caller's session does not exist.
    if (entry === undefined || entry.lifetime === 'server' || !isOf(identity, entry)) {
      throw execError('sessionNotFound', { sessionId: id });
    }
    if (entry.holder !== undefined && !takeover) throw execError('sessionAttached', { sessionId: id });
    const previous = entry.holder;
    entry.holder = holder;
    entry.abandoned?.grace.cancel();
    entry.abandoned = undefined;
    previous?.takenOver();
    return entry.session;
  }

  /** The holder's connection has ended. Does nothing if the holder no longer holds the session. */
  release(session: Session, holder: Holder): void {
    const entry = this.#entries.get(session.id);
    if (entry === undefined || entry.holder !== holder) return;
    entry.holder = undefined;
    if (entry.lifetime === 'connection') return void this.#end(entry);
    const { clock, limits } = this.#context;
    const grace = clock.after(limits.detachGraceMs, () => void this.#end(entry));
    entry.abandoned = { grace, sinceMs: clock.elapsed() };
  }

  /** Ends a session and waits until its processes are gone. */
  async end(session: Session): Promise<void> {
    const entry = this.#entries.get(session.id);
    if (entry !== undefined) await this.#end(entry);
  }

  find(id: string, identity: Identity): Session | undefined {
    const entry = this.#entries.get(id);
    return entry !== undefined && isOf(identity, entry) ? entry.session : undefined;
  }

  visibleTo(identity: Identity): Session[] {
    return [...this.#entries.values()].filter((entry) => isOf(identity, entry)).map(({ session }) => session);
  }

  /** Number of processes in all of the caller's sessions that have not closed yet, including sessions that are being ended. */
  runningCount(identity: Identity): number {
    const entries = [...this.#entries.values(), ...this.#ending.keys()].filter((entry) => isOf(identity, entry));
    return entries.reduce((sum, { session }) => sum + session.runningCount, 0);
  }

  /** Refuses new sessions, ends every existing one and waits until all processes are gone. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const entry of [...this.#entries.values()]) void this.#end(entry);
    await Promise.all(this.#ending.values());
  }

  /** A caller that loses its connection repeatedly must not lock out itself or, without credentials, all other callers. */
  #makeRoom(identity: Identity): void {
    const limit = this.#context.limits.maxSessionsPerCaller;
    const own = [...this.#entries.values()].filter((entry) => isOf(identity, entry));
    if (own.length < limit) return;
    const expendable = leastNeeded(own);
    if (expendable === undefined) throw execError('tooManySessions', { limit });
    void this.#end(expendable);
  }

  #add(session: Session, entry: Pick<Entry, 'identity' | 'lifetime' | 'holder'>): void {
    this.#entries.set(session.id, { session, ...entry, abandoned: undefined });
  }

  #end(entry: Entry): Promise<void> {
    this.#entries.delete(entry.session.id);
    entry.abandoned?.grace.cancel();
    const ending = entry.session.close('disconnected').finally(() => this.#ending.delete(entry));
    this.#ending.set(entry, ending);
    return ending;
  }
}

function isOf(identity: Identity, entry: Entry): boolean {
  return entry.identity.subject === identity.subject;
}

/** The session abandoned first among those without a running process; if there is none, the one abandoned first. */
function leastNeeded(entries: readonly Entry[]): Entry | undefined {
  const abandoned = entries
    .filter((entry) => entry.abandoned !== undefined)
    .toSorted((one, other) => (one.abandoned?.sinceMs ?? 0) - (other.abandoned?.sinceMs ?? 0));
  return abandoned.find(({ session }) => session.runningCount === 0) ?? abandoned[0];
}
