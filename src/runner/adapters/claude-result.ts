// The `result` line of claude, which ends a turn: the session's usage so far, and how the turn went.

import type { AdapterEvent, TurnResult } from '../agent-event.js';
import { type ModelUsage, type Usage, addUsage } from '../usage.js';
import { type JsonObject, booleanIn, countIn, listIn, numberIn, objectIn, stringIn } from './json-members.js';

/** Turns that the program starts on its own, each with its own result, while there is no prompt or the next one is waiting. */
const foreignOrigins: ReadonlySet<string | undefined> = new Set([
  'task-notification',
  'channel',
  'peer',
  'coordinator',
  'observer',
  'observer-activity',
]);

/** Starts an internal diagnostic that the program adds to the result of an interrupted turn. */
const diagnosticMark = '[ede_diagnostic]';

/** Terminal reasons that mean failure even if `is_error` is false. */
const failure = /error|abort|failed|exhausted|too_long/;

export class ClaudeResults {
  /** The model that the session named last. */
  model: string | undefined;
  /** Sum over the turns, for programs that report only the usage of each turn. */
  #counted: Usage = { models: {} };

  read(json: JsonObject): AdapterEvent[] {
    const usage = this.#usageIn(json);
    const origin = stringIn(objectIn(json, 'origin'), 'kind');
    return [
      ...(usage === undefined ? [] : [{ type: 'usage', usage } as const]),
      foreignOrigins.has(origin)
        ? { type: 'status', status: `ended a turn it started itself: ${origin}` }
        : { type: 'turnEnded', result: resultIn(json) },
    ];
  }

  /**
   * `modelUsage` and the cost are totals of the session. `usage` covers only this turn and the main model, so it is used only as a
   * fallback. An empty `modelUsage` comes from a program that failed before its first request, even in a session that has usage: it does
   * not mean zero.
   */
  #usageIn(json: JsonObject): Usage | undefined {
    const [totals, turn] = [objectIn(json, 'modelUsage'), objectIn(json, 'usage')];
    const costUsd = numberIn(json, 'total_cost_usd');
    const cost = costUsd === undefined ? {} : { costUsd };
    if (totals !== undefined) {
      const models = Object.entries(totals).map(([model, counts]): [string, ModelUsage] => [model, totalOf(counts)]);
      return models.length === 0 ? undefined : { models: Object.fromEntries(models), ...cost };
    }
    if (turn === undefined) return undefined;
    this.#counted = addUsage(this.#counted, { models: { [this.model ?? 'unknown']: turnOf(turn) } });
    return { ...this.#counted, ...cost };
  }
}

/** `subtype` can be `success` even for a failure. */
function resultIn(json: JsonObject): TurnResult {
  const terminalReason = stringIn(json, 'terminal_reason');
  const reason = terminalReason ?? stringIn(json, 'subtype') ?? 'unknown';
  const errors = listIn(json, 'errors')?.filter((error) => typeof error === 'string' && !error.startsWith(diagnosticMark)) ?? [];
  const isError =
    (booleanIn(json, 'is_error') ?? (reason !== 'completed' && reason !== 'success')) || failure.test(terminalReason ?? '');
  return { isError, reason, text: stringIn(json, 'result') ?? errors.join('\n') };
}

function totalOf(counts: unknown): ModelUsage {
  return {
    inputTokens: countIn(counts, 'inputTokens'),
    outputTokens: countIn(counts, 'outputTokens'),
    cacheReadTokens: countIn(counts, 'cacheReadInputTokens'),
    cacheWriteTokens: countIn(counts, 'cacheCreationInputTokens'),
  };
}

function turnOf(counts: JsonObject): ModelUsage {
  return {
    inputTokens: countIn(counts, 'input_tokens'),
    outputTokens: countIn(counts, 'output_tokens'),
    cacheReadTokens: countIn(counts, 'cache_read_input_tokens'),
    cacheWriteTokens: countIn(counts, 'cache_creation_input_tokens'),
  };
}
