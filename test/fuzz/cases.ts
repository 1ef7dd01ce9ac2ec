// One case: a connection and everything sent over it, derived from a seed and a number alone.

import { type Call, greeting, randomCall, randomNotification } from './calls.js';
import { brokenFrame, clientFrame, fragmented, opcodes } from './frames.js';
import { type Meaning, meaningOfBinaryMessage, meaningOfLine, meaningOfTextMessage } from './meaning.js';
import { immense, oneLine, withBrokenBytes, withDuplicateKey, withStrangeText, withStrangeValue } from './mutations.js';
import { type Guise, guises } from './guises.js';
import { Random } from '../support/random.js';
import { strangeRequest } from './strange-requests.js';

export type Transport = 'stdio' | 'unix' | 'websocket';

export interface Input {
  /** As written to the connection. */
  readonly bytes: Buffer;
  readonly meaning: Meaning;
  readonly label: string;
}

export interface FuzzCase {
  readonly index: number;
  /** The setup of the server that it is for. */
  readonly guise: Guise;
  readonly transport: Transport;
  /** Sent in place of a WebSocket handshake; then there are no other inputs. */
  readonly request: Input | undefined;
  readonly inputs: readonly Input[];
  /** `pieces` splits the bytes anywhere; `trickle` sends them one at a time. */
  readonly manner: 'whole' | 'pieces' | 'trickle';
  /** `settle` waits for every answer, `end` closes in good order, `cut` hangs up in the middle. */
  readonly ending: 'settle' | 'end' | 'cut';
}

/** A server on stdio has only one client, so a case there has to be worth starting one. */
const inputsOnStdio = 1_000;

/** One case out of this many is on stdio. */
const stdioEvery = 80;

export function makeCase(seed: number, index: number): FuzzCase {
  const random = Random.forCase(seed, index);
  const guise = random.pick(guises);
  const transport = index % stdioEvery === 0 ? 'stdio' : random.pick(['unix', 'websocket'] as const);
  if (transport === 'websocket' && random.chance(0.4)) {
    const request = strangeRequest(random);
    return { index, guise, transport, request, inputs: [], manner: random.pick(['whole', 'pieces']), ending: 'end' };
  }
  const count = transport === 'stdio' ? inputsOnStdio : 1 + random.below(80);
  const inputs = [...(random.chance(0.8) ? greetingInputs(transport, random) : [])];
  while (inputs.length < count && !isLast(inputs.at(-1))) inputs.push(makeInput(transport, `${index}-${inputs.length}`, random));
  const ending = transport === 'stdio' ? 'settle' : random.pick(['settle', 'settle', 'settle', 'end', 'cut'] as const);
  const length = inputs.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const manner = random.pick(length < 2_000 ? (['whole', 'pieces', 'trickle'] as const) : (['whole', 'pieces'] as const));
  return { index, guise, transport, request: undefined, inputs, manner, ending };
}

/** The same case without some of its inputs, to find out which of them matter. */
export function withInputs(whole: FuzzCase, inputs: readonly Input[]): FuzzCase {
  return { ...whole, inputs };
}

function isLast(input: Input | undefined): boolean {
  return input?.meaning.kind === 'fatal' || input?.meaning.kind === 'unfinished';
}

function greetingInputs(transport: Transport, random: Random): Input[] {
  return greeting(random).map((call, index) =>
    // The second is a notification.
    message(transport, 'greeting', Buffer.from(requestText(call, index === 1 ? undefined : `hello ${index}`))),
  );
}

function makeInput(transport: Transport, id: string, random: Random): Input {
  const roll = random.below(1_000);
  if (roll < 12 && transport !== 'stdio') return lastInput(transport, id, random);
  if (roll < 16) return message(transport, 'immense', Buffer.from(immense(id, random)));
  if (roll < 400) return message(transport, 'call', Buffer.from(requestText(randomCall(random), id)));
  if (roll < 500) return message(transport, 'notification', Buffer.from(requestText(randomNotification(random), undefined)));
  const whole = messageOf(randomCall(random), id);
  if (roll < 650) return message(transport, 'strange value', Buffer.from(withStrangeValue(whole, random)));
  if (roll < 700) return message(transport, 'strange text', oneLine(Buffer.from(withStrangeText(whole, random))));
  if (roll < 750) return message(transport, 'duplicate key', Buffer.from(withDuplicateKey(whole, random)));
  if (roll < 850) return harmless(message(transport, 'broken bytes', withBrokenBytes(JSON.stringify(whole), random)), transport);
  if (roll < 900) return harmless(message(transport, 'random bytes', oneLine(random.bytes(random.below(100)))), transport);
  if (roll < 930) return message(transport, 'reply to nothing', Buffer.from(JSON.stringify({ id, result: random.below(5) })));
  if (roll < 950) return message(transport, 'blank', Buffer.from(' \t'.repeat(random.below(4))));
  return transport === 'websocket' ? framedInput(requestText(randomCall(random), id), random) : spacedLine(whole, random);
}

/** Input that ends a conversation: an invalid frame, half a message, a header that announces bytes which never follow. */
function lastInput(transport: Transport, id: string, random: Random): Input {
  const text = Buffer.from(requestText(randomCall(random), id));
  if (transport === 'websocket') {
    if (random.chance(0.7)) return { bytes: brokenFrame(random), meaning: { kind: 'fatal' }, label: 'broken frame' };
    const whole = clientFrame(opcodes.text, text);
    return { bytes: whole.subarray(0, random.below(whole.length)), meaning: { kind: 'unfinished' }, label: 'half frame' };
  }
  const mark = Buffer.concat([Buffer.from([0x01]), random.bytes(random.below(12))]);
  const bytes = random.pick([text.subarray(0, random.below(text.length)), mark]);
  return { bytes, meaning: { kind: 'unfinished' }, label: 'half message' };
}

/** Input that would end the conversation is left to `lastInput`, which stdio does not use: its server would have to be restarted. */
function harmless(input: Input, transport: Transport): Input {
  return isLast(input) ? message(transport, input.label, Buffer.from('}')) : input;
}

function framedInput(text: string, random: Random): Input {
  const payload = Buffer.from(text);
  switch (random.below(4)) {
    case 0:
      return { bytes: fragmented(opcodes.text, payload, random), meaning: meaningOfTextMessage(payload), label: 'fragments' };
    case 1:
      return { bytes: clientFrame(opcodes.binary, payload), meaning: meaningOfBinaryMessage(payload), label: 'binary message' };
    case 2:
      return { bytes: clientFrame(opcodes.ping, random.bytes(random.below(126))), meaning: { kind: 'silent' }, label: 'ping' };
    default:
      return { bytes: clientFrame(opcodes.pong, random.bytes(random.below(126))), meaning: { kind: 'silent' }, label: 'pong' };
  }
}

function spacedLine(whole: Record<string, unknown>, random: Random): Input {
  const text = JSON.stringify(whole, undefined, random.pick(['\t', '  ', ''])).replaceAll('\n', ' ');
  const payload = Buffer.from(text);
  const end = random.pick(['\n', '\r\n', ' \n', '\n\n\r\n']);
  return { bytes: Buffer.concat([payload, Buffer.from(end)]), meaning: meaningOfLine(payload), label: 'spaced line' };
}

function message(transport: Transport, label: string, payload: Buffer): Input {
  if (transport === 'websocket') {
    return { bytes: clientFrame(opcodes.text, payload), meaning: meaningOfTextMessage(payload), label };
  }
  return { bytes: Buffer.concat([payload, Buffer.from('\n')]), meaning: meaningOfLine(payload), label };
}

function messageOf({ method, params }: Call, id: string | undefined): Record<string, unknown> {
  return { ...(id === undefined ? {} : { id }), method, ...(params === undefined ? {} : { params }) };
}

function requestText(call: Call, id: string | undefined): string {
  return JSON.stringify(messageOf(call, id));
}
