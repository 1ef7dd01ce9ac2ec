// A run as people read it: text as it comes, tools in one line each, a line of figures at the end of a turn.

import type { AgentEvent, Outcome, Usage } from '../../runner/index.js';
import { paint, type Style } from '../colour.js';
import { visibleLines } from '../visible-text.js';

type Shown = AgentEvent | { readonly type: 'gap'; readonly missedEvents: number };

/** Longest piece of a tool's input or output that is shown. */
const foldedChars = 100;

export class RunView {
  readonly #paint: (style: Style, text: string) => string;
  #isLineBegun = false;
  #lastUsage: Usage | undefined;

  constructor({ isColoured }: { readonly isColoured: boolean }) {
    this.#paint = isColoured ? paint : (_style, text) => text;
  }

  /** What to print. All of it comes from the agent, so a terminal shows it and obeys none of it. */
  show(event: Shown): string {
    switch (event.type) {
      case 'text':
        return this.#flow(visibleLines(event.text));
      case 'thinking':
        return this.#flow(this.#paint('gray', visibleLines(event.text)));
      case 'turnStarted':
        return this.#line('bold', `> ${folded(event.prompt)}`);
      case 'session':
        return this.#line('gray', `session ${event.sessionId}${event.model === undefined ? '' : `, ${event.model}`}`);
      case 'toolCall':
        return this.#line('cyan', `⚙ ${event.name} ${folded(JSON.stringify(event.input))}`);
      case 'toolResult':
        return this.#line(event.isError ? 'red' : 'gray', `  ${event.isError ? '✗' : '✓'} ${folded(event.output)}`);
      case 'permission':
        return this.#line('yellow', `? may it use ${event.toolName} ${folded(JSON.stringify(event.input))}`);
      case 'rateLimit': {
        const until = event.resetsAt === undefined ? '' : ` until ${new Date(event.resetsAt).toISOString()}`;
        return this.#line('yellow', event.state === 'block' ? `rate limit reached${until}` : `a rate limit is near${until}`);
      }
      case 'retry':
        return this.#line('yellow', `retry ${event.attempt}: ${event.problem}`);
      case 'usage':
        this.#lastUsage = event.usage;
        return '';
      case 'turnEnded': {
        const { isError, text, reason } = event.result;
        const failure = isError ? this.#line('red', `the turn failed: ${text === '' ? reason : text}`) : '';
        return failure + (this.#lastUsage === undefined ? this.#endLine() : this.#line('gray', usageLine(this.#lastUsage)));
      }
      case 'gap':
        return this.#line('yellow', `${event.missedEvents} events are missing here`);
      case 'raw':
        return this.#line('gray', folded(textOf(event.line)));
      case 'ended':
        return this.#line(event.outcome.kind === 'completed' ? 'gray' : 'red', outcomeLine(event.outcome));
      case 'launching':
      case 'permissionWithdrawn':
      case 'status':
        return ''; // progress; --json has it
    }
  }

  #flow(text: string): string {
    this.#isLineBegun = !text.endsWith('\n');
    return text;
  }

  #line(style: Style, text: string): string {
    return `${this.#endLine()}${this.#paint(style, visibleLines(text))}\n`;
  }

  #endLine(): string {
    const end = this.#isLineBegun ? '\n' : '';
    this.#isLineBegun = false;
    return end;
  }
}

/** `12340 in, 56 out, 0 cached, $0.0535`: of the session so far. */
function usageLine({ models, costUsd }: Usage): string {
  const sum = Object.values(models).reduce(
    (total, { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }) => ({
      input: total.input + inputTokens,
      output: total.output + outputTokens,
      cached: total.cached + cacheReadTokens + cacheWriteTokens,
    }),
    { input: 0, output: 0, cached: 0 },
  );
  const cost = costUsd === undefined ? '' : `, $${costUsd.toFixed(4)}`;
  return `${sum.input} in, ${sum.output} out, ${sum.cached} cached${cost}`;
}

function outcomeLine({ kind, problem, note, sessionId, resetsAt }: Outcome): string {
  const facts = [
    problem === undefined ? undefined : folded(problem),
    note === undefined || note === problem ? undefined : note,
    resetsAt === undefined ? undefined : `until ${new Date(resetsAt).toISOString()}`,
    sessionId === undefined || kind === 'completed' ? undefined : `resume with: sluice agent resume ${sessionId} "…"`,
  ].filter((fact) => fact !== undefined);
  return [kind, ...facts].join('; ');
}

function textOf(line: unknown): string {
  return typeof line === 'string' ? line : JSON.stringify(line);
}

function folded(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  return line.length > foldedChars ? `${line.slice(0, foldedChars)}…` : line;
}
