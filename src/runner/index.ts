// The agent runner. Every export is a public API.

export type { AgentAdapter, AgentReader, Launch, LaunchCommand, PermissionAnswer, SessionStore } from './agent-adapter.js';
export type { AdapterEvent, AgentEvent, EventBody, EventStamp, TurnResult } from './agent-event.js';
export type { AgentOptions, Turn } from './agent-options.js';
export { AgentRun, startAgent } from './agent-run.js';
export type { SeenEvent } from './event-log.js';
export type { Outcome, OutcomeKind } from './outcome.js';
export type { PriorSessions } from './prior-sessions.js';
export { type ClaudeOptions, claude } from './adapters/claude.js';
export { type CodexOptions, codex } from './adapters/codex.js';
export type { JsonObject } from './adapters/json-members.js';
export { type JsonLinesOptions, jsonl } from './adapters/jsonl.js';
export { type LogLine, type ReadRunOptions, type RunHeader, readRun, runsIn } from './run-log.js';
export type { RunWriter } from './run-writer.js';
export { type ModelUsage, type Usage, addUsage, usageSince } from './usage.js';
export { type RunSummary, summarizeRuns, totals } from './run-totals.js';
export {
  type ErrorListener,
  type ExitListener,
  type SdkProcess,
  type SdkSpawnOptions,
  type Subscribe,
  sluiceSpawn,
} from './sdk-spawn.js';
