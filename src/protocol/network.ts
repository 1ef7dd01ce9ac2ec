// The part of the method table about the network of the server's machine: HTTP requests made there, and its listening ports.

import * as v from 'valibot';
import { bytes } from './bytes.js';
import { flowId } from './flows.js';
import { limit, processId, sessionId } from './ids.js';
import { optionalMembers } from './map.js';

const empty = optionalMembers({});
const header = v.object({ name: v.string(), value: v.string() });
const portNumber = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(65_535));

export const listeningPort = v.object({
  port: portNumber,
  address: v.pipe(v.string(), v.description('IPv4 or IPv6 address that it is bound to')),
  pid: v.pipe(v.optional(v.number()), v.description('Operating-system pid of a process that listens, if it is one of ours')),
  processId: v.pipe(v.optional(processId), v.description('The process of the caller whose tree contains that pid')),
  sessionId: v.optional(sessionId),
});
export type ListeningPort = v.InferOutput<typeof listeningPort>;

export const bodyDelta = v.object({
  requestId: v.string(),
  seq: v.pipe(v.number(), v.description('From 1')),
  deltaBase64: bytes,
  done: v.boolean(),
  error: v.nullable(v.string()),
});

export const networkRequests = {
  'http/request': {
    family: 'network',
    summary:
      'Makes an HTTP request from the server’s machine. Only to loopback, and to hosts that the operator has opened by name.',
    params: v.object({
      method: v.string(),
      url: v.string(),
      headers: v.nullish(
        v.array(
          v.object({
            ...header.entries,
            valueEnvVar: v.pipe(v.nullish(v.string()), v.description('Variable of the server whose value is appended')),
          }),
        ),
      ),
      bodyBase64: v.nullish(bytes),
      timeoutMs: v.nullish(limit),
      redirectPolicy: v.pipe(v.nullish(v.picklist(['follow', 'stop'])), v.description('follow when absent')),
      requestId: v.pipe(v.string(), v.description('Unique among the streamed requests in progress')),
      streamResponse: v.pipe(v.nullish(v.boolean()), v.description('true: the body follows the reply as http/request/bodyDelta')),
    }),
    result: v.object({ status: v.number(), headers: v.array(header), bodyBase64: bytes }),
  },
  'ports/list': {
    family: 'network',
    summary: 'Lists the TCP ports on which programs of the server’s machine listen, with the caller’s process behind each.',
    params: v.nullish(empty),
    result: v.object({ ports: v.array(listeningPort) }),
  },
  'ports/watch': {
    family: 'network',
    summary: 'Sends `ports/changed` when a process of the caller starts or stops to listen. Ends with the connection.',
    params: v.nullish(empty),
    result: v.object({ ports: v.pipe(v.array(listeningPort), v.description('Ports of the caller’s processes so far')) }),
  },
  'ports/unwatch': {
    family: 'network',
    summary: 'Stops sending `ports/changed`.',
    params: v.nullish(empty),
    result: empty,
  },
  'ports/open': {
    family: 'network',
    summary: 'Connects a flow to a TCP port or a Unix socket of the server’s machine. The operator must allow it.',
    params: v.object({
      flowId,
      port: v.nullish(portNumber),
      host: v.pipe(v.nullish(v.string()), v.description('Loopback when absent; other hosts must be opened by name')),
      path: v.pipe(v.nullish(v.string()), v.description('Unix socket, instead of a port')),
    }),
    result: empty,
  },
} as const;
