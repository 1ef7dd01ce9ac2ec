// Tokens and cost of a session, per model. Programs report running totals: the latest is taken, never a sum.

export interface ModelUsage {
  /** Without those that were read from a cache or written to one: each token counts once. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
}

export interface Usage {
  /** By the model's name; `unknown` where the program does not tell. */
  readonly models: Readonly<Record<string, ModelUsage>>;
  /** Absent where the program does not tell. */
  readonly costUsd?: number;
}

/** By a session that has just begun. */
export const nothingUsed: Usage = { models: {} };

const nothing: ModelUsage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** What was used since `before`; both are running totals of the same session. */
export function usageSince(total: Usage, before: Usage | undefined): Usage {
  const models = Object.entries(total.models).map(([model, now]): [string, ModelUsage] => {
    const then = before?.models[model] ?? nothing;
    return [model, eachTokenCount((kind) => Math.max(now[kind] - then[kind], 0))];
  });
  const cost = total.costUsd === undefined ? {} : { costUsd: Math.max(total.costUsd - (before?.costUsd ?? 0), 0) };
  return { models: Object.fromEntries(models), ...cost };
}

/** Of a turn alone, for its result; nothing where it cannot be told. */
export function turnUsage(total: Usage | undefined, before: Usage | undefined): { readonly usage?: Usage } {
  return total === undefined || before === undefined ? {} : { usage: usageSince(total, before) };
}

/** Of several sessions together. */
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
