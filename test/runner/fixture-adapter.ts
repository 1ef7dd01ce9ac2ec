// The adapter for the small agent program in test/fixtures.

import { fileURLToPath } from 'node:url';
import type { AgentAdapter, AdapterEvent } from '#src/runner/index.js';

const program = fileURLToPath(new URL('../fixtures/agent.js', import.meta.url));

export function fixtureAdapter(turnsPerProcess: AgentAdapter['turnsPerProcess'] = 'many'): AgentAdapter {
  return {
    name: 'fixture',
    turnsPerProcess,
    command: ({ resume, args }) => ({ argv: [process.execPath, program, resume ?? '', ...args] }),
    encodePrompt: (prompt) => JSON.stringify({ prompt }),
    encodeInterrupt: (interrupt) => JSON.stringify({ interrupt }),
    encodePermission: (_request, { behavior }) => JSON.stringify({ answer: behavior }),
    createReader: () => ({ read: (line, stream) => [readLine(line, stream)] }),
  };
}

function readLine(line: string, stream: 'stdout' | 'stderr'): AdapterEvent {
  let json: Record<string, unknown>;
  try {
    json = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return { type: 'raw', stream, line };
  }
  switch (json['type']) {
    case 'session':
      return { type: 'session', sessionId: String(json['id']) };
    case 'text':
      return { type: 'text', text: String(json['text']) };
    case 'ask':
      return { type: 'permission', requestId: String(json['id']), toolName: String(json['tool']), input: {} };
    case 'withdraw':
      return { type: 'permissionWithdrawn', requestId: String(json['id']) };
    case 'limit':
      return { type: 'rateLimit', state: 'block', ...(json['resetsAt'] === 0 ? {} : { resetsAt: Number(json['resetsAt']) }) };
    case 'usage': {
      const tokens = {
        inputTokens: Number(json['input']),
        outputTokens: Number(json['output']),
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
      };
      return { type: 'usage', usage: { models: { fixture: tokens }, costUsd: Number(json['output']) / 100 } };
    }
    case 'end':
      return {
        type: 'turnEnded',
        result: {
          isError: json['error'] === true,
          reason: String(json['reason']),
          text: typeof json['text'] === 'string' ? json['text'] : '',
        },
      };
    default:
      return { type: 'raw', stream, line: json };
  }
}
