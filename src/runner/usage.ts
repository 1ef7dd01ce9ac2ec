// Tokens and cost of a session, per model. Programs report running totals: the latest replaces the previous one, they are never summed.

export interface ModelUsage {
  /** Excludes tokens read from or written to a cache: each token counts once. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
}

export interface Usage {
  /** By the model's name; `unknown` when the program does not name it. */
  readonly models: Readonly<Record<string, ModelUsage>>;
  /** Absent when the program does not report it. */
  readonly costUsd?: number;
}

/** The usage of a new session. */
export const nothingUsed: Usage = { models: {} };

const nothing: ModelUsage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** Usage since `before`; both are running totals of the same session. */
export function usageSince(total: Usage, before: Usage | undefined): Usage {
  const models = Object.entries(total.models).map(([model, now]): [string, ModelUsage] => {
    const then = before?.models[model] ?? nothing;
    return [model, eachTokenCount((kind) => Math.max(now[kind] - then[kind], 0))];
  });
  const cost = total.costUsd === undefined ? {} : { costUsd: Math.max(total.costUsd - (before?.costUsd ?? 0), 0) };
  return { models: Object.fromEntries(models), ...cost };
}

/** The usage of one turn, for its result; empty when it cannot be determined. */
export function turnUsage(total: Usage | undefined, before: Usage | undefined): { readonly usage?: Usage } {
  return total === undefined || before === undefined ? {} : { usage: usageSince(total, before) };
}

/** Total of two sessions. */
export function addUsage(one: Usage, other: Usage): Usage {
  const names = new Set([...Object.keys(one.models), ...Object.keys(other.models)]);
  const models = [...names].map((model): [string, ModelUsage] => {
    const [mine, theirs] = [one.models[model] ?? nothing, other.models[model] ?? nothing];
    return [model, eachTokenCount((kind) => mine[kind] + theirs[kind])];
  });
  const isCostKnown = one.costUsd !== undefined || other.costUsd !== undefined;
  return { models: Object.fromEntries(models), ...(isCostKnown ? { costUsd: (one.costUsd ?? 0) + (other.costUsd ?? 0) } : {}) };
}

function eachTokenCount(count: (kind: keyof ModelUsage) => number): ModelUsage {
  return {
    inputTokens: count('inputTokens'),
    outputTokens: count('outputTokens'),
    cacheReadTokens: count('cacheReadTokens'),
    cacheWriteTokens: count('cacheWriteTokens'),
  };
}
