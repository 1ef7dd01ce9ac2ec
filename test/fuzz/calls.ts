// Calls that a client might make: every method with sensible parameters, and names that other clients also use. In no particular order:
// whether a call fits the current state is for the server to decide.

import { requests } from '#src/protocol/methods.js';
import { notifications } from '#src/protocol/notifications.js';
import type { Random } from '../support/random.js';

export interface Call {
  readonly method: string;
  readonly params?: unknown;
}

/** As long as a session id. Replaced by the id of a live session when it is sent, if there is one. */
export const sessionPlaceholder = '00000000-0000-4000-8000-000000000000';

const strangeIds = ['constructor', '__proto__', 'toString', '', '\ud800', 'é\u{1f600}', 'x'.repeat(256)];

/** Few, and often the same, so that calls hit a process. */
const processIds = ['p0', 'p0', 'p0', 'p0', 'p1', 'p1', 'p2', ...strangeIds];

/** Without a shell, so that these words stay harmless however they are mutated. */
const commands = [
  ['true'],
  ['cat'],
  ['cat'],
  ['sleep', '60'],
  ['echo', 'hi'],
  ['head', '-c', '100000', '/dev/zero'],
  ['no-such-program'],
  ['/'],
  [],
];

const signals = ['SIGTERM', 'INT', 'interrupt', 'SIGKILL', 'SIGSTOP', 'SIGCONT', 'SIGNOTHING', '0', ''];

const methods = Object.keys(requests);
const notificationNames = Object.keys(notifications);

/** The calls that begin a case which is meant to get past the handshake. */
export function greeting(random: Random): readonly Call[] {
  const cat = { processId: 'p0', argv: ['cat'], envPolicy: { inherit: 'core' }, pipeStdin: true };
  return [
    { method: 'initialize', params: initializeParams(random) },
    { method: 'initialized' },
    ...(random.chance(0.7) ? [{ method: 'process/start', params: cat }] : []),
  ];
}

/** Starts are rare: each costs as much as a hundred other calls. */
export function randomCall(random: Random): Call {
  const method = random.pick(methods);
  const isStart = method === 'process/start' || method === 'command/exec';
  return isStart && random.chance(0.6) ? randomCall(random) : { method, params: paramsOf(method, random) };
}

export function randomNotification(random: Random): Call {
  const method = random.pick([...notificationNames, 'initialized', 'process/ack', 'nothing', ...methods]);
  return { method, params: method === 'process/ack' ? { processId: random.pick(processIds), seq: random.below(20) } : {} };
}

function paramsOf(method: string, random: Random): unknown {
  const processId = random.pick(processIds);
  switch (method) {
    case 'initialize':
      return initializeParams(random);
    case 'process/start':
      return startParams(processId, random);
    case 'process/read':
      return { processId, afterSeq: random.below(10), maxBytes: random.below(100_000), waitMs: random.below(50) };
    case 'process/write':
      return { processId, chunk: base64(random), ...(random.chance(0.5) ? { writeId: `w${random.below(5)}` } : {}) };
    case 'process/resize':
    case 'command/exec/resize':
      return { processId, size: { rows: random.below(100), cols: random.below(100) } };
    case 'process/signal':
      return { processId, signal: random.pick(signals) };
    case 'process/terminate':
      return { processId, force: random.chance(0.5), timeoutMs: random.below(20) };
    case 'process/wait':
      return random.chance(0.5)
        ? { processId, timeoutMs: random.below(50) }
        : { processId, until: random.pick(['closed', 'stdoutEnded']) };
    case 'process/list':
      return random.pick([null, {}, { scope: 'all' }, { scope: 'session' }]);
    case 'process/attach':
      return attachParams(processId, random);
    case 'command/exec':
      return commandParams(processId, random);
    case 'command/exec/write':
      return { processId, deltaBase64: base64(random), closeStdin: random.chance(0.3) };
    default:
      return { processId };
  }
}

function initializeParams(random: Random): unknown {
  const resume = random.pick([
    {},
    {},
    {},
    { resumeSessionId: null },
    { resumeSessionId: null },
    { resumeSessionId: sessionPlaceholder },
  ]);
  return {
    clientName: 'fuzz',
    ...resume,
    ...(random.chance(0.1) ? { takeover: true } : {}),
    ...(random.chance(0.3) ? { cursors: { p0: random.below(9), constructor: 1, ['__proto__']: 2 } } : {}),
    ...(random.chance(0.5) ? { capabilities: { acks: random.chance(0.5), binaryOutput: random.chance(0.5) } } : {}),
  };
}

function startParams(processId: string, random: Random): unknown {
  const argv = random.pick(commands);
  const io = random.pick([
    undefined,
    { kind: 'pipe', stdin: 'open' },
    { kind: 'pipe', stdin: 'closed' },
    { kind: 'pty', rows: 24, cols: 80 },
  ]);
  if (random.chance(0.1)) {
    return {
      processId,
      prepared: { program: '/bin/cat', argv: ['cat'], cwd: '/', env: {}, io: io ?? { kind: 'pipe', stdin: 'open' } },
    };
  }
  return {
    processId,
    argv,
    envPolicy: { inherit: random.pick(['core', 'all', 'none']), exclude: ['*(a+)+*'], includeOnly: random.pick([[], ['P*']]) },
    env: random.pick<object>([{}, { A: '1' }, { constructor: 'x' }]),
    ...(io === undefined ? {} : { io }),
    ...(random.chance(0.2) ? { timeoutMs: random.below(30) } : {}),
    ...(random.chance(0.2) ? { idleTimeoutMs: random.below(30) } : {}),
    ...(random.chance(0.2) ? { retry: true } : {}),
    ...(random.chance(0.1) ? { metadata: { note: { deep: [null] } } } : {}),
  };
}

function attachParams(processId: string, random: Random): unknown {
  return {
    processId,
    ...(random.chance(0.5) ? { sessionId: sessionPlaceholder } : {}),
    afterSeq: random.below(5),
    role: random.pick(['watch', 'drive']),
    follow: random.chance(0.5),
  };
}

function commandParams(processId: string, random: Random): unknown {
  return {
    command: random.pick(commands),
    ...(random.chance(0.7) ? { processId } : {}),
    tty: random.chance(0.3),
    streamStdin: random.chance(0.3),
    streamStdoutStderr: random.chance(0.3),
    timeoutMs: random.below(200),
    ...(random.chance(0.2) ? { outputBytesCap: random.below(1000) } : {}),
  };
}

function base64(random: Random): string {
  return random.bytes(random.below(60)).toString('base64');
}
