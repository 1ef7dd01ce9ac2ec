// Formats a run for people: the answer as it streams, thinking set apart from it, each tool call on one line, usage at the end of a turn.

import type { Outcome, SeenEvent, TurnResult, Usage } from '../../runner/index.js';
import { paint, type Style } from '../colour.js';
import { visibleLines } from '../visible-text.js';

/** How much of a tool's input or output is shown, in characters. */
const foldedChars = 100;

export class RunView {
  readonly #paint: (style: Style, text: string) => string;
  /** Begins every line of thinking. Colour sets thinking apart from the answer; without colour, a word does. */
  readonly #thinkingMark: string;
  /** What the unfinished last line holds; undefined at the beginning of a line. */
  #begun: 'text' | 'thinking' | undefined;
  #hasAnswered = false;
  #lastUsage: Usage | undefined;

  constructor({ isColoured }: { readonly isColoured: boolean }) {
    this.#paint = isColoured ? paint : (_style, text) => text;
    this.#thinkingMark = isColoured ? '  ' : 'thinking: ';
  }

  /** Returns what to print. All of it comes from the agent, so control characters are made visible and never reach the terminal. */
  show(event: SeenEvent): string {
    switch (event.type) {
      case 'text':
        return this.#answer(event.text);
      case 'thinking':
        return this.#think(event.text);
      case 'turnStarted':
        this.#hasAnswered = false;
        return this.#line('bold', `> ${folded(event.prompt)}`);
      case 'session':
        return this.#line('gray', `session ${event.sessionId}${event.model === undefined ? '' : `, ${event.model}`}`);
      case 'toolCall':
        return this.#line('cyan', `⚙ ${event.name} ${folded(jsonOf(event.input))}`);
      case 'toolResult':
        return this.#line(event.isError ? 'red' : 'gray', `  ${event.isError ? '✗' : '✓'} ${folded(event.output)}`);
      case 'permission':
        return this.#line('yellow', `? wants to use ${event.toolName} ${folded(jsonOf(event.input))}`);
      case 'rateLimit': {
        const until = event.resetsAt === undefined ? '' : ` until ${new Date(event.resetsAt).toISOString()}`;
        return this.#line('yellow', event.state === 'block' ? `rate limit reached${until}` : `a rate limit is near${until}`);
      }
      case 'retry':
        return this.#line('yellow', `retry ${event.attempt}: ${event.problem}`);
      case 'usage':
        this.#lastUsage = event.usage;
        return '';
      case 'turnEnded':
        return this.#result(event.result) + (this.#lastUsage === undefined ? '' : this.#line('gray', usageLine(this.#lastUsage)));
      case 'gap':
        return this.#line('yellow', `${event.missedEvents} events are missing here`);
      case 'raw':
        return this.#line('gray', folded(rawText(event.line)));
      case 'ended':
        return this.#line(event.outcome.kind === 'completed' ? 'gray' : 'red', outcomeLine(event.outcome));
      case 'launching':
      case 'permissionWithdrawn':
        return ''; // --json has them
      case 'status':
        return event.isTransient === true ? '' : this.#line('gray', folded(event.status));
    }
  }

  /** Ends an unfinished line, for output that bypasses the view. */
  endLine(): string {
    const end = this.#begun === undefined ? '' : '\n';
    this.#begun = undefined;
    return end;
  }

  #answer(text: string): string {
    const start = this.#begun === 'thinking' ? this.endLine() : '';
    this.#hasAnswered = true;
    if (text !== '') this.#begun = text.endsWith('\n') ? undefined : 'text';
    return start + visibleLines(text);
  }

  #think(text: string): string {
    const start = this.#begun === 'text' ? this.endLine() : '';
    const lines = visibleLines(text).split('\n');
    const marked = lines.map((line, index) => {
      if (line === '') return '';
      const mark = index === 0 && this.#begun === 'thinking' ? '' : this.#thinkingMark;
      return mark + this.#paint('gray', line);
    });
    if (text !== '') this.#begun = text.endsWith('\n') ? undefined : 'thinking';
    return start + marked.join('\n');
  }

  /** Some programs report the answer only at the end of the turn. */
  #result({ isError, text, reason }: TurnResult): string {
    if (isError) return this.#line('red', `the turn failed: ${text === '' ? reason : text}`);
    return (this.#hasAnswered ? '' : this.#answer(text)) + this.endLine();
  }

  #line(style: Style, text: string): string {
    return `${this.endLine()}${this.#paint(style, visibleLines(text))}\n`;
  }
}

/** `12340 in, 56 out, 0 cached, $0.0535`: totals of the session so far. */
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

/** `failed; signal SIGKILL; why; how to resume`. */
export function outcomeLine({ kind, exit, problem, note, sessionId, resetsAt }: Outcome): string {
  const facts = [
    exit === undefined ? undefined : exitFact(exit),
    problem === undefined ? undefined : folded(problem),
    note === undefined || note === problem ? undefined : note,
    resetsAt === undefined ? undefined : `until ${new Date(resetsAt).toISOString()}`,
    sessionId === undefined || kind === 'completed' ? undefined : `resume with: sluice agent resume ${sessionId} "…"`,
  ].filter((fact) => fact !== undefined);
  return [kind, ...facts].join('; ');
}

function exitFact(exit: NonNullable<Outcome['exit']>): string {
  switch (exit.kind) {
    case 'code':
      return `exit code ${exit.code}`;
    case 'signal':
      return `signal ${exit.signal}`;
    case 'lost':
      return 'exit status unknown';
  }
}

function rawText(line: unknown): string {
  return typeof line === 'string' ? line : jsonOf(line);
}

/** Empty for a value without a JSON form, such as an input that the program left out. */
export function jsonOf(value: unknown): string {
  const json: string | undefined = JSON.stringify(value);
  return json ?? '';
}

function folded(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  return line.length > foldedChars ? `${line.slice(0, foldedChars)}…` : line;
}
