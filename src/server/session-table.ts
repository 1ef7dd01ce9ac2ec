// Which sessions there are, who may use them, and how long one waits for its client to come back.

import { randomUUID } from 'node:crypto';
import type { Clock, Timer } from '../base/clock.js';
import { asSessionId, execError } from '../protocol/index.js';
import type { Session } from './session.js';

/** Who a caller is, as far as limits and visibility go. Everybody is the same where no credentials are asked for. */
export interface Identity {
  readonly subject: string;
}

/** Everybody, where no credentials are asked for. */
export const anybody: Identity = { subject: 'anybody' };

/** The connection that drives a session. */
export interface Holder {
  /** The session went to another connection. */
  takenOver(): void;
}

export interface SessionLimits {
  /** How long a resumable session's processes run on after its connection was lost. */
  readonly detachGraceMs: number;
  readonly maxSessionsPerCaller: number;
  /** How long an ended process that was released stays readable. */
  readonly keepReleasedMs: number;
}

/** Ends with its connection, waits for it to come back, or never had one and lives as long as the server. */
type Lifetime = 'connection' | 'resumable' | 'server';

interface Entry {
  readonly session: Session;
  readonly identity: Identity;
  readonly lifetime: Lifetime;
  holder: Holder | undefined;
  /** Its connection was lost, and its client has yet to come back. */
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
  /** Sessions on their way out, whose processes have their grace; a server that closes waits for them. */
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

  /** At the limit, an abandoned session of this caller is ended for it; throws `tooManySessions` when there is none. */
  open(identity: Identity, { isResumable, holder }: { isResumable: boolean; holder: Holder | undefined }): Session {
    // Nothing would end what is started in a session that opens after all others were ended.
    if (this.#isClosing) throw execError('sessionClosed', { sessionId: '' });
    this.#makeRoom(identity);
    const session = this.#context.createSession(asSessionId(randomUUID()));
    this.#add(session, { identity, lifetime: isResumable ? 'resumable' : 'connection', holder });
    return session;
  }

  /** The session for what the caller's other sessions have released. Nobody drives it; it ends with the server. */
  releasedSession(identity: Identity): Session {
    const known = [...this.#entries.values()].find((entry) => entry.lifetime === 'server' && isOf(identity, entry));
    if (known !== undefined) return known.session;
    const { createSession, limits } = this.#context;
    const session = createSession(asSessionId(randomUUID()), { keepClosedMs: limits.keepReleasedMs });
    this.#add(session, { identity, lifetime: 'server', holder: undefined });
    return session;
  }

  /** Whether it is one of those that hold released processes. */
  isReleasedSession(session: Session): boolean {
    return this.#entries.get(session.id)?.lifetime === 'server';
  }

  /** Takes a session over from a connection that was lost, or, when asked to, from one that was not. */
  resume(id: string, identity: Identity, { holder, takeover }: { holder: Holder; takeover: boolean }): Session {
    const entry = this.#entries.get(id);
    // Somebody else's session does not exist for this caller.
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

  /** The holder's connection has ended. A session it no longer holds is none of its business. */
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

  /** Processes of all sessions of the caller that have not closed yet, also those that are being ended with their session. */
  runningCount(identity: Identity): number {
    const entries = [...this.#entries.values(), ...this.#ending.keys()].filter((entry) => isOf(identity, entry));
    return entries.reduce((sum, { session }) => sum + session.runningCount, 0);
  }

  /** Opens no more, ends every session and waits until all processes are gone. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const entry of [...this.#entries.values()]) void this.#end(entry);
    await Promise.all(this.#ending.values());
  }

  /** A caller whose connections were lost again and again must not lock itself out, nor, without credentials, everybody else. */
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

/** Of the abandoned sessions the one without a running process that was abandoned first; else the one that was abandoned first. */
function leastNeeded(entries: readonly Entry[]): Entry | undefined {
  const abandoned = entries
    .filter((entry) => entry.abandoned !== undefined)
    .toSorted((one, other) => (one.abandoned?.sinceMs ?? 0) - (other.abandoned?.sinceMs ?? 0));
  return abandoned.find(({ session }) => session.runningCount === 0) ?? abandoned[0];
}
