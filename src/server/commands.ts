// The one-shot commands of one connection: each runs until it exits, can be controlled by id while it runs, and is ended with the
// connection. Built on the same process core as process/start, except that the reply waits for the command to end.

import { randomUUID } from 'node:crypto';
import type { LogReader, ManagedProcess, ProcessTable } from '../process/index.js';
import {
  type CommandService,
  type Ending,
  type Notification,
  type Params,
  type ProcessId,
  type Result,
  asProcessId,
  execError,
  isExecError,
} from '../protocol/index.js';
import { CappedStream, KeptText } from './capped-stream.js';
import { type CommandRequest, commandRequest, terminalSize } from './command-request.js';
import { type Session, exitFacts } from './session.js';

/** Sends output to the caller; resolves when the caller is ready for more. */
export type TellOutput = (delta: Notification<'command/exec/outputDelta'>) => Promise<void>;

/** Called with each command that starts. `program` is the name the caller gave, even when a sandbox runs it. */
export type CommandStarted = (started: ManagedProcess, program: string) => void;

/** The exit code that timeout(1) uses. */
const timedOutCode = 124;

/** A running command that the caller can refer to by id. */
interface Active {
  /** A promise while the sandbox is being probed; otherwise available immediately. */
  readonly started: ManagedProcess | Promise<ManagedProcess>;
  readonly isStdinStreamed: boolean;
}

export class Commands {
  readonly service: CommandService;
  readonly #session: Session;
  readonly #tell: TellOutput;
  readonly #onStarted: CommandStarted;
  readonly #active = new Map<ProcessId, Active>();
  /** Created by the first command, because most connections run none. */
  #processes: ProcessTable | undefined;

  constructor(session: Session, tell: TellOutput, onStarted: CommandStarted = () => {}) {
    this.#session = session;
    this.#tell = tell;
    this.#onStarted = onStarted;
    this.service = {
      'command/exec': async (params) => this.#exec(params),
      'command/exec/write': async (params) => this.#write(params),
      'command/exec/resize': async (params) => this.#resize(params),
      'command/exec/terminate': async ({ processId }) => {
        await this.#steer(processId, (target) => void target.terminate('terminated', 0));
        return {};
      },
    };
  }

  /** Ends every command and waits until all of them are gone. */
  async close(): Promise<void> {
    if (this.#processes !== undefined) await this.#session.closeCommands(this.#processes);
  }

  async #exec(params: Params<'command/exec'>): Promise<Result<'command/exec'>> {
    const request = commandRequest(params, this.#session);
    const { processId, isStdinStreamed } = request;
    if (processId !== undefined && this.#active.has(processId)) throw execError('commandExists', { processId });
    const started = request.sandboxPolicy.type === 'dangerFullAccess' ? this.#start(request) : this.#startSandboxed(request);
    if (processId !== undefined) this.#active.set(processId, { started, isStdinStreamed });
    try {
      return await this.#collect(await started, request);
    } finally {
      if (processId !== undefined) this.#active.delete(processId);
    }
  }

  async #startSandboxed(request: CommandRequest): Promise<ManagedProcess> {
    const problem = await this.#session.sandbox.ready();
    if (problem !== undefined) throw execError('sandboxUnavailable', { problem });
    return this.#start(request);
  }

  #start({ processId, spec, timeoutMs, sandboxPolicy }: CommandRequest): ManagedProcess {
    this.#processes ??= this.#session.openCommands();
    try {
      const started = this.#processes.start({
        // A command without an id gets one that no caller will use.
        id: processId ?? asProcessId(randomUUID()),
        spec: this.#session.sandbox.wrap(spec, sandboxPolicy),
        timeoutMs,
        idleTimeoutMs: undefined,
        forceAfterMs: 0,
        metadata: undefined,
        leftovers: 'end',
      });
      this.#onStarted(started, spec.argv[0] ?? '');
      return started;
    } catch (error) {
      if (!isExecError(error, 'spawnFailed')) throw error;
      const { failure, problem } = error.data;
      throw execError('spawnFailed', { failure, problem: `failed to spawn command: ${problem}` }, { cause: error });
    }
  }

  async #collect(target: ManagedProcess, request: CommandRequest): Promise<Result<'command/exec'>> {
    const capped = { stdout: new CappedStream(request.capBytes), stderr: new CappedStream(request.capBytes) };
    const kept = { stdout: new KeptText(), stderr: new KeptText() };
    const reader = target.log.openReader(0);
    try {
      for await (const { stream, bytes } of chunksOf(reader)) {
        const passed = capped[stream].pass(bytes);
        if (passed === undefined) continue;
        if (!request.isOutputStreamed || request.processId === undefined) kept[stream].add(passed.bytes);
        else await this.#tell({ processId: request.processId, stream, deltaBase64: passed.bytes, capReached: passed.capReached });
      }
    } finally {
      reader.close();
    }
    await target.closed;
    const ending = await target.exited;
    return {
      ...endingFacts(ending),
      stdout: kept.stdout.text(),
      stderr: kept.stderr.text(),
      stdoutCapReached: capped.stdout.capReached,
      stderrCapReached: capped.stderr.capReached,
      stdoutBytes: capped.stdout.totalBytes,
      stderrBytes: capped.stderr.totalBytes,
      sandboxType: request.sandboxPolicy.type === 'dangerFullAccess' ? 'none' : this.#session.sandbox.type,
    };
  }

  async #write({ processId, deltaBase64, closeStdin }: Params<'command/exec/write'>): Promise<Record<string, never>> {
    const isEnd = closeStdin === true;
    if ((deltaBase64 === undefined || deltaBase64 === null) && !isEnd) {
      throw execError('invalidParams', { problem: 'command/exec/write requires deltaBase64 or closeStdin' });
    }
    if (!this.#activeFor(processId).isStdinStreamed) throw execError('stdinNotStreamed', { processId });
    const bytes = deltaBase64 ?? new Uint8Array();
    const status = await this.#steer(processId, (target) => {
      const written = bytes.length === 0 ? 'accepted' : target.write(bytes, undefined);
      if (isEnd) target.closeStdin(); // closing it again is not an error
      return written;
    });
    if (status === 'stdinClosed') throw execError('stdinEnded', { processId });
    return {};
  }

  async #resize({ processId, size }: Params<'command/exec/resize'>): Promise<Record<string, never>> {
    const checked = terminalSize(size);
    await this.#steer(processId, (target) => {
      if (target.request.spec.io.kind !== 'pty') throw execError('notATerminal', { processId, remedy: 'tty true' });
      target.resize(checked);
    });
    return {};
  }

  /** Acts immediately on a running command; otherwise as soon as it has started, in the order of the calls. */
  async #steer<T>(processId: ProcessId, act: (target: ManagedProcess) => T | Promise<T>): Promise<T> {
    const { started } = this.#activeFor(processId);
    return started instanceof Promise ? act(await started) : act(started);
  }

  #activeFor(processId: ProcessId): Active {
    const active = this.#active.get(processId);
    if (active === undefined) throw execError('commandNotActive', { processId });
    return active;
  }
}

/** All output until the process closes; terminal output counts as stdout. */
async function* chunksOf(reader: LogReader): AsyncGenerator<{ stream: 'stdout' | 'stderr'; bytes: Uint8Array }> {
  for (let taken = await reader.next(); taken !== undefined; taken = await reader.next()) {
    const { entry } = taken;
    if (entry.kind === 'closed') return;
    if (entry.kind === 'chunk') yield { stream: entry.stream === 'stderr' ? 'stderr' : 'stdout', bytes: entry.bytes };
  }
}

function endingFacts(ending: Ending): Pick<Result<'command/exec'>, 'exitCode' | 'signal' | 'timedOut'> {
  const timedOut = ending.reason === 'timedOut';
  const facts = exitFacts(ending);
  return timedOut ? { ...facts, exitCode: timedOutCode, timedOut } : { ...facts, timedOut };
}
