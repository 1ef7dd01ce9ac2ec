// One simulated program: a leader that follows its script, perhaps a descendant that outlives it, signals, and an end that the backend
// reaps a moment later.

import type { Child, ChildEvents, ProcessTree, TreeLook, TreeMember, WaitStatus } from '#src/process/child.js';
import { WiredChild } from '#src/process/start/wired-child.js';
import type { Dice } from './dice.js';
import { SimulatedInput } from './input.js';
import { SimulatedOutput } from './pipe.js';
import { type OnTerm, type Piece, type Script, lastWords } from './script.js';
import type { World } from './world.js';

/** Above every real pid, so that signals which the code under test sends by pid reach no process. */
const firstPid = 1_000_000_000;

interface Member {
  readonly name: string;
  readonly pid: number;
  readonly onTerm: OnTerm;
  readonly stuckMs: number;
  isAlive: boolean;
  isStopped: boolean;
  /** Still to be written, in order. */
  pieces: Piece[];
  /** How much of the first piece has been written. */
  writtenOfPiece: number;
  isWriting: boolean;
  /** What it does once everything is written. */
  readonly afterwards: () => void;
}

export interface ProgramOptions {
  readonly world: World;
  readonly name: string;
  readonly serial: number;
  readonly script: Script;
  /** Called with every byte of input in the order in which the kernel takes it. */
  readonly onInput: (bytes: Uint8Array) => void;
  readonly onInputEnd: () => void;
}

export class SimulatedProgram implements ProcessTree {
  readonly child: Child;
  readonly #options: ProgramOptions;
  readonly #world: World;
  readonly #dice: Dice;
  readonly #wired: WiredChild;
  readonly #output: SimulatedOutput;
  readonly #input: SimulatedInput | undefined;
  readonly #members: Member[] = [];
  readonly #leader: Member;
  readonly #descendant: Member | undefined;
  #status: WaitStatus | undefined;
  #isReaped = false;
  #isReading = false;
  #waitsForEndOfInput = false;
  /** How many times each signal was received. */
  readonly signals = new Map<string, number>();

  constructor(options: ProgramOptions, events: ChildEvents) {
    const { world, name, serial, script } = options;
    this.#options = options;
    this.#world = world;
    this.#dice = world.dice(name);
    this.#leader = this.#addMember({ ...script, name, pid: firstPid + serial * 2, afterwards: () => this.#scriptEnded() });
    this.#descendant = this.#addDescendant();
    this.#output = new SimulatedOutput({
      world,
      dice: world.dice(`${name} output`),
      serial,
      streams: script.io === 'pty' ? ['pty'] : ['stdout', 'stderr'],
      events,
      isHeldOpen: () => this.#members.some(({ isAlive }) => isAlive),
      onRoom: () => this.#members.forEach((member) => this.#resume(member)),
    });
    this.#input = script.stdin === 'closed' && script.io === 'pipe' ? undefined : this.#openInput();
    if (script.stdin === 'shut') this.#input?.shut();
    const resize = script.io === 'pty' ? { resize: () => void (world.effects += 1) } : {};
    this.#wired = new WiredChild(
      { pid: this.#leader.pid, tree: this, input: this.#input, output: this.#output, ...resize },
      events,
    );
    this.child = this.#wired;
    this.#resume(this.#leader);
  }

  /** Whether any of its processes is alive. */
  get isAlive(): boolean {
    return this.#members.some(({ isAlive }) => isAlive);
  }

  get isLeaderAlive(): boolean {
    return this.#leader.isAlive;
  }

  get isHeld(): boolean {
    return this.#output.isHeld;
  }

  /** How the leader really ended. */
  get status(): WaitStatus | undefined {
    return this.#status;
  }

  async signalGroup(signal: string): Promise<boolean> {
    this.#world.effects += 1;
    if (this.#isReaped && this.#world.isBlind) throw new Error('EMFILE');
    const receivers = this.#members.filter(({ isAlive }) => isAlive);
    this.signals.set(signal, (this.signals.get(signal) ?? 0) + 1);
    this.#world.note(() => `${this.#options.name}: gets ${signal}`);
    for (const member of receivers) this.#receive(member, signal);
    return !this.#isReaped || receivers.length > 0;
  }

  signal(_: readonly TreeMember[], signals: readonly string[]): boolean {
    signals.forEach((signal) => void this.signalGroup(signal).catch(() => {}));
    return true;
  }

  async look(): Promise<TreeLook> {
    if (this.#world.isBlind) throw new Error('EMFILE');
    const living = this.#members.filter(({ isAlive }) => isAlive);
    return { members: living.map(({ pid }) => ({ pid, isInGroup: true })), isCertain: true };
  }

  /** For processes that leave the group, which none does here. */
  chase(): void {
    this.#world.fail(`${this.#options.name} is chased`);
  }

  leaderReaped(): void {
    this.#isReaped = true;
  }

  #openInput(): SimulatedInput {
    return new SimulatedInput({
      world: this.#world,
      dice: this.#world.dice(`${this.#options.name} input`),
      onTaken: (bytes) => this.#options.onInput(bytes),
      onReadable: () => this.#keepReading(),
      onEnd: () => this.#options.onInputEnd(),
    });
  }

  #addMember(
    facts: Pick<Member, 'name' | 'pid' | 'onTerm' | 'stuckMs' | 'afterwards'> & { readonly pieces: readonly Piece[] },
  ): Member {
    const member = { ...facts, pieces: [...facts.pieces], isAlive: true, isStopped: false, writtenOfPiece: 0, isWriting: false };
    this.#members.push(member);
    return member;
  }

  /** Writes the next piece, or the part of it that fits. */
  #resume(member: Member): void {
    if (!member.isAlive || member.isStopped || member.isWriting) return;
    if (member === this.#descendant && this.#leader.isAlive) return;
    const [piece] = member.pieces;
    if (piece === undefined) return member.afterwards();
    member.isWriting = true;
    const delayMs = member.writtenOfPiece === 0 ? piece.afterMs : 0;
    this.#world.after(delayMs, () => {
      member.isWriting = false;
      if (!member.isAlive || member.isStopped) return;
      const stream = this.#options.script.io === 'pty' ? 'pty' : piece.stream;
      member.writtenOfPiece += this.#output.write(stream, piece.bytes - member.writtenOfPiece);
      if (member.writtenOfPiece < piece.bytes) return; // continues when there is room
      member.pieces.shift();
      member.writtenOfPiece = 0;
      this.#resume(member);
    });
  }

  #scriptEnded(): void {
    const { end } = this.#options.script;
    switch (end.kind) {
      case 'code':
        return this.#exit({ kind: 'code', code: end.code });
      case 'signal':
        return this.#exit({ kind: 'signal', signal: end.signal });
      case 'endOfInput':
        this.#waitsForEndOfInput = true;
        return this.#input === undefined || this.#input.isAtEnd ? this.#exit({ kind: 'code', code: 0 }) : undefined;
      case 'stays':
    }
  }

  #keepReading(): void {
    const { stdin, readBytes } = this.#options.script;
    if (this.#isReading || (stdin !== 'read' && stdin !== 'echoed') || this.#input === undefined) return;
    this.#isReading = true;
    this.#world.soon(this.#dice, () => {
      this.#isReading = false;
      const input = this.#input;
      if (input === undefined || !this.#leader.isAlive || this.#leader.isStopped) return;
      const bytes = Math.min(input.unread, readBytes);
      input.read(bytes);
      if (stdin === 'echoed' && bytes > 0) {
        this.#leader.pieces.push({ stream: 'stdout', bytes, afterMs: 0 });
        this.#resume(this.#leader);
      }
      if (input.unread > 0) return this.#keepReading();
      if (input.isAtEnd && this.#waitsForEndOfInput && this.#leader.pieces.length === 0) this.#exit({ kind: 'code', code: 0 });
    });
  }

  #receive(member: Member, signal: string): void {
    if (signal === 'SIGSTOP') member.isStopped = true;
    if (signal === 'SIGCONT' && member.isStopped) {
      member.isStopped = false;
      this.#resume(member);
      if (member === this.#leader) this.#keepReading();
    }
    if (signal === 'SIGINT') this.#die(member, signal);
    if (signal === 'SIGKILL' && member.stuckMs === 0) this.#die(member, signal);
    else if (signal === 'SIGKILL') this.#world.after(member.stuckMs, () => this.#die(member, signal));
    if (signal !== 'SIGTERM') return;
    if (member.onTerm === 'dies') this.#die(member, signal);
    if (member.onTerm !== 'cleansUp') return;
    member.pieces = [...member.pieces.slice(0, 1), lastWords];
    this.#resume(member);
    this.#world.after(20, () => this.#die(member, signal));
  }

  #die(member: Member, signal: string): void {
    if (!member.isAlive) return;
    if (member === this.#leader) return this.#exit({ kind: 'signal', signal });
    member.isAlive = false;
    this.#world.note(() => `${member.name}: dies of ${signal}`);
    this.#output.writerGone();
  }

  #exit(status: WaitStatus): void {
    if (!this.#leader.isAlive) return;
    this.#leader.isAlive = false;
    this.#status = status;
    this.#world.note(() => `${this.#options.name}: ends with ${JSON.stringify(status)}`);
    this.#input?.shut();
    if (this.#descendant !== undefined) this.#orphan(this.#descendant);
    this.#output.writerGone();
    this.#world.soon(this.#dice, () => this.#wired.leaderReaped(status));
  }

  /** Inherits the pipes and waits until its leader has exited. */
  #addDescendant(): Member | undefined {
    const { descendant } = this.#options.script;
    if (descendant === undefined) return undefined;
    const name = `${this.#options.name} descendant`;
    return this.#addMember({ ...descendant, name, pid: this.#leader.pid + 1, afterwards: () => {} });
  }

  /** The leader has exited: the descendant writes its pieces and lives on for a while. */
  #orphan(member: Member): void {
    this.#world.after(this.#options.script.descendant?.livesMs ?? 0, () => this.#die(member, 'old age'));
    this.#resume(member);
  }
}
