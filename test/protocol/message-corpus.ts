// Messages as they appear on the wire: valid ones that every validator must accept, and invalid ones that each must refuse.

import type * as v from 'valibot';
import type { chunk as chunkSchema, ending, envPolicy as envPolicySchema, io, processStatus } from '#src/protocol/process.js';
import { machineMessages } from './machine-corpus.js';
import type { Valid } from './valid-messages.js';

const processId = 'p1';
const size = { rows: 24, cols: 80 };
const pipe: v.InferInput<typeof io> = { kind: 'pipe', stdin: 'open' };
const chunk: v.InferInput<typeof chunkSchema> = { seq: 1, stream: 'stdout', chunk: 'aGkK' };

const endingFacts = { reason: 'exited', outputComplete: true, droppedBytes: 0, startedAt: 1, endedAt: 2.5 } as const;
const resources = { userMs: 0.5, systemMs: 0, maxRssBytes: 4096 };
type Ending = v.InferInput<typeof ending>;
const endedWithCode: Ending = { kind: 'code', code: 0, ...endingFacts, resources };
const endedBySignal: Ending = { kind: 'signal', signal: 'SIGKILL', ...endingFacts, reason: 'terminated' };
const endingLost: Ending = { kind: 'lost', ...endingFacts, reason: 'serverLost', outputComplete: false };

const environmentInfo = {
  shell: { name: 'sh', path: '/bin/sh' },
  cwd: null,
  tempDir: 'file:///tmp',
  temporaryDirectories: ['/tmp'],
  userHomeDir: 'file:///home/user',
  platformOs: 'linux',
  executorVersion: '0.1.0',
  capabilities: { pty: true },
};

const running: v.InferInput<typeof processStatus> = {
  processId,
  pid: 4711,
  argv: ['cat'],
  cwd: '/',
  io: pipe,
  state: 'running',
  startedAt: 1,
  nextSeq: 1,
  outputBytes: 0,
};
const closed: typeof running = {
  ...running,
  io: { kind: 'pty', ...size },
  state: 'closed',
  ending: endedWithCode,
  metadata: { label: [1] },
};

const page = {
  chunks: [],
  nextSeq: 1,
  nextBytes: 0,
  droppedBytes: 0,
  exited: false,
  exitCode: null,
  closed: false,
  failure: null,
  sandboxDenied: false,
};
const retained = { head: 'YQ==', tail: '', truncated: false, droppedBytes: 0 };
const envPolicy: v.InferInput<typeof envPolicySchema> = {
  inherit: 'core',
  ignoreDefaultExcludes: true,
  exclude: ['*KEY*'],
  set: { A: '1' },
  includeOnly: [],
};
const prepared = { program: '/bin/cat', argv: ['cat'], cwd: '/', env: { A: '' }, io: pipe };

/** At least one of each kind; for messages with optional members, one without any and one with all of them. */
export const validMessages: Valid = {
  ...machineMessages,
  'initialize params': [
    { clientName: 'demo' },
    { clientName: '', resumeSessionId: 's1', takeover: true, capabilities: { binaryOutput: true, startEvents: true } },
    { clientName: 'demo', resumeSessionId: null, takeover: null, capabilities: null },
  ],
  'initialize result': [
    { protocolVersion: 'exec-server.v0', sessionId: 's1', environmentInfo, capabilities: { resume: false } },
    {
      protocolVersion: 'exec-server.v0',
      sessionId: 's1',
      environmentInfo,
      capabilities: {},
      forgotten: ['p'],
      lastSeqs: { q: 3 },
    },
  ],
  'session/close params': [{}, null],
  'session/close result': [{}],
  'process/ack params': [
    { processId: 'p', seq: 0 },
    { processId: 'p', seq: 7 },
  ],
  'initialized params': [{}, null],
  'process/start params': [
    { processId, argv: ['cat'] },
    {
      processId: '',
      argv: [],
      env: { A: '1' },
      cwd: '/',
      envPolicy,
      io: pipe,
      arg0: '-cat',
      timeoutMs: 0,
      idleTimeoutMs: 1,
      forceAfterMs: 0,
    },
    { processId, argv: null, cwd: null, env: null, envPolicy: null, io: null, tty: null, pipeStdin: null, prepared: null },
    { processId, prepared, metadata: { nested: { deep: [null] } }, tty: true, pipeStdin: false },
    {
      processId,
      sandbox: null,
      networkProxy: {},
      managedNetwork: 'x',
      enforceManagedNetwork: false,
      io: { kind: 'pty', ...size },
    },
  ],
  'process/start result': [{ processId, sandboxType: 'none', pid: 4711 }],
  'process/read params': [
    { processId },
    { processId, afterSeq: 0, afterBytes: 0, maxBytes: 0, waitMs: 0, until: 'closed' },
    { processId, afterSeq: 2 ** 64, maxBytes: 2 ** 64, waitMs: 2 ** 64 },
  ],
  'process/read result': [
    page,
    { ...page, chunks: [chunk], firstSeq: 3, exited: true, exitCode: 0, signal: 'SIGTERM', failure: 'x' },
  ],
  'process/write params': [
    { processId, chunk: '' },
    { processId, chunk: 'aGkK', writeId: '1' },
  ],
  'process/write result': [{ accepted: true, status: 'accepted' }],
  'process/closeStdin params': [{ processId }],
  'process/closeStdin result': [{ status: 'alreadyClosed' }],
  'process/resize params': [{ processId, size }],
  'process/resize result': [{}],
  'process/signal params': [{ processId, signal: 'SIGINT' }],
  'process/signal result': [{ delivered: false }],
  'process/terminate params': [{ processId }, { processId, force: true, timeoutMs: 0 }],
  'process/terminate result': [{ running: true }],
  'process/wait params': [{ processId }, { processId, timeoutMs: 5, until: 'closed' }, { processId, until: 'stdoutEnded' }],
  'process/wait result': [{ running: true }, { running: false, ending: endingLost }],
  'process/snapshot params': [{ processId }],
  'process/snapshot result': [
    { streams: {}, nextSeq: 1, running: true, exitCode: null },
    {
      streams: { stdout: retained, stderr: retained, pty: retained },
      nextSeq: 9,
      running: false,
      exitCode: 137,
      signal: 'SIGKILL',
    },
  ],
  'process/list params': [{}, null],
  'process/list result': [{ processes: [] }, { processes: [running, closed] }],
  'process/attach params': [
    { processId },
    { processId, sessionId: 's1', afterSeq: 3, afterBytes: 9, role: 'drive', follow: false },
  ],
  'process/attach result': [{ process: running, role: 'watch', afterBytes: 0 }],
  'process/detach params': [{ processId }],
  'process/detach result': [{}],
  'process/release params': [
    { processId },
    { processId, replace: 'ended', keepMs: 0 },
    { processId, replace: null, keepMs: null },
  ],
  'process/release result': [{ sessionId: 's2' }, { sessionId: 's2', replaced: true }],
  'process/restart params': [{ processId }, { processId, sessionId: 's2', timeoutMs: 0 }, { processId, sessionId: null }],
  'process/restart result': [{ processId, pid: 7 }],
  'process/forget params': [{ processId }],
  'process/forget result': [{ forgotten: true }, { forgotten: false }],
  'environment/info params': [{}, null],
  'environment/info result': [environmentInfo, { ...environmentInfo, cwd: 'file:///', serverPid: 4711 }],
  'environment/status params': [{}, null],
  'environment/status result': [{ status: 'ready' }],
  'command/exec params': [
    { command: ['true'] },
    {
      command: ['sh'],
      processId,
      tty: true,
      streamStdin: true,
      streamStdoutStderr: true,
      outputBytesCap: 0,
      size,
      disableOutputCap: false,
      timeoutMs: 10,
      disableTimeout: false,
      cwd: '/',
      env: { A: '1', B: null },
      sandboxPolicy: {
        type: 'workspaceWrite',
        writableRoots: ['/'],
        networkAccess: true,
        excludeTmpdirEnvVar: true,
        excludeSlashTmp: null,
      },
    },
    { command: [], sandboxPolicy: { type: 'readOnly' }, permissionProfile: {} },
    { command: [], sandboxPolicy: { type: 'dangerFullAccess' } },
  ],
  'command/exec result': [
    {
      exitCode: 0,
      stdout: 'hi\n',
      stderr: '',
      signal: 'SIGTERM',
      timedOut: false,
      sandboxType: 'none',
      stdoutCapReached: false,
      stderrCapReached: false,
      stdoutBytes: 3,
      stderrBytes: 0,
    },
  ],
  'command/exec/write params': [{ processId }, { processId, deltaBase64: 'aGkK', closeStdin: true }],
  'command/exec/write result': [{}],
  'command/exec/resize params': [{ processId, size }],
  'command/exec/resize result': [{}],
  'command/exec/terminate params': [{ processId }],
  'command/exec/terminate result': [{}],
  'process/started params': [{ processId: 'p1', pid: 4711 }],
  'process/failed params': [
    { processId: 'p1', problem: 'program "x" not found', failure: 'programNotFound' },
    { processId: '', problem: '' },
  ],
  'process/output params': [
    { processId, ...chunk },
    { processId, seq: 2, stream: 'pty', chunk: '' },
  ],
  'process/exited params': [
    { processId, seq: 1, exitCode: 0, sandboxDenied: false, ending: endedWithCode },
    { processId, seq: 1, exitCode: 137, signal: 'SIGKILL', sandboxDenied: false, ending: endedBySignal },
    { processId, seq: 1, exitCode: -1, sandboxDenied: false, ending: endingLost },
  ],
  'process/closed params': [
    { processId, seq: 2 },
    { processId, seq: 2, survivors: [1, 2] },
  ],
  'command/exec/outputDelta params': [{ processId, stream: 'stderr', deltaBase64: '', capReached: true }],
};

/** Each is refused for the given reason. */
export const invalidMessages: readonly (readonly [reason: string, name: keyof Valid, message: unknown])[] = [
  ['a missing member', 'initialize params', {}],
  ['no message at all', 'process/start params', null],
  ['a string for a message', 'process/read params', 'p1'],
  ['a list for a message', 'process/write params', ['p1', 'aGkK']],
  ['a process id that is a number', 'process/start params', { processId: 7, argv: ['cat'] }],
  ['a process id that is too long', 'process/read params', { processId: 'x'.repeat(257) }],
  ['a process id with a lone surrogate', 'process/start params', { processId: 'a\ud800', argv: ['cat'] }],
  ['a command as one string', 'process/start params', { processId, argv: 'cat' }],
  ['an argument that is null', 'process/start params', { processId, argv: ['cat', null] }],
  ['a variable that is a number', 'process/start params', { processId, argv: ['cat'], env: { A: 1 } }],
  ['an unknown kind of io', 'process/start params', { processId, argv: ['cat'], io: { kind: 'socket' } }],
  ['io without a kind', 'process/start params', { processId, argv: ['cat'], io: size }],
  [
    'io of one kind with the members of the other',
    'process/start params',
    { processId, argv: ['cat'], io: { kind: 'pty', stdin: 'open' } },
  ],
  ['a policy without inherit', 'process/start params', { processId, argv: ['cat'], envPolicy: {} }],
  ['a prepared command without arguments', 'process/start params', { processId, prepared: { ...prepared, argv: [] } }],
  ['a negative timeout', 'process/start params', { processId, argv: ['cat'], timeoutMs: -1 }],
  ['a fraction of a millisecond', 'process/read params', { processId, waitMs: 0.5 }],
  ['a negative cursor', 'process/read params', { processId, afterSeq: -1 }],
  ['a cursor beyond the safe integers', 'process/attach params', { processId, afterSeq: 2 ** 53 }],
  ['a chunk as a list of numbers', 'process/write params', { processId, chunk: [104, 105] }],
  ['a chunk that is null', 'process/write params', { processId, chunk: null }],
  ['an empty write id', 'process/write params', { processId, chunk: '', writeId: '' }],
  ['a write id that is too long', 'process/write params', { processId, chunk: '', writeId: 'x'.repeat(129) }],
  ['a terminal without rows', 'process/resize params', { processId, size: { rows: 0, cols: 80 } }],
  ['a terminal with too many columns', 'process/resize params', { processId, size: { rows: 24, cols: 65_536 } }],
  ['a flag as a number', 'process/terminate params', { processId, force: 1 }],
  ['an event that does not exist', 'process/wait params', { processId, until: 'started' }],
  ['a role that does not exist', 'process/attach params', { processId, role: 'owner' }],
  ['an unknown sandbox', 'command/exec params', { command: ['true'], sandboxPolicy: { type: 'jail' } }],
  ['a number for a list', 'command/exec params', { command: 1 }],
  ['an ending without a reason', 'process/wait result', { running: false, ending: { ...endedWithCode, reason: undefined } }],
  ['a member that is optional but null', 'process/wait result', { running: false, ending: null }],
  [
    'an exit code that is a fraction',
    'process/exited params',
    { processId, seq: 1, exitCode: 0.5, sandboxDenied: false, ending: endingLost },
  ],
  ['another protocol', 'initialize result', { protocolVersion: 'v9', sessionId: 's1', environmentInfo, capabilities: {} }],
];
