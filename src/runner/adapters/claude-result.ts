// The `result` line of claude, which ends a turn: what the session has used so far, and how the turn went.

import type { AdapterEvent, TurnResult } from '../agent-event.js';
import { type ModelUsage, type Usage, addUsage } from '../usage.js';
import { type JsonObject, booleanIn, countIn, listIn, numberIn, objectIn, stringIn } from './json-members.js';

/** Turns that the program takes by itself, with a result of their own, while no prompt or the next one waits. */
const foreignOrigins: ReadonlySet<string | undefined> = new Set([
  'task-notification',
  'channel',
  'peer',
  'coordinator',
  'observer',
  'observer-activity',
]);

/** Begins what the program tells its makers about a turn that was interrupted. */
const diagnosticMark = '[ede_diagnostic]';

/** Reasons for which a turn has failed, whatever `is_error` says. */
const failure = /error|abort|failed|exhausted|too_long/;

export class ClaudeResults {
  /** As the session last named it. */
  model: string | undefined;
  /** Of programs that tell only what each turn used. */
  #counted: Usage = { models: {} };

  read(json: JsonObject): AdapterEvent[] {
    const usage = this.#usageIn(json);
    const origin = stringIn(objectIn(json, 'origin'), 'kind');
    return [
      ...(usage === undefined ? [] : [{ type: 'usage', usage } as const]),
      foreignOrigins.has(origin)
        ? { type: 'status', status: `ended a turn of its own: ${origin}` }
        : { type: 'turnEnded', result: resultIn(json) },
    ];
  }

  /**
   * `modelUsage` and the cost are totals of the session. `usage` is of the turn and of the main model alone: it counts only where there
   * is nothing better. No models at all is what a program says that failed before its first request, also in a session that has used
   * some: it is not zero.
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

/** `subtype` says `success` of failures, too. */
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
