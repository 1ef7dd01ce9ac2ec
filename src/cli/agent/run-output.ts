// Prints a run as it happens: a view for people, JSON lines for programs, or only the answers for scripts.

import type { SeenEvent } from '../../runner/index.js';
import { isColoured, paint } from '../colour.js';
import { complain, print } from '../own-output.js';
import { jsonLine, visibleLines } from '../visible-text.js';
import { LiveLine } from './live-line.js';
import type { Permissions } from './permissions.js';
import { RunView, outcomeLine } from './view.js';

export type OutputMode = 'view' | 'json' | 'answers';

export interface RunOutput extends Disposable {
  show(event: SeenEvent): Promise<void>;
  /** Yields the terminal, at the beginning of a line, to a permission question. */
  pauseFor<T>(question: () => Promise<T>): Promise<T>;
}

/** When `requests` is `asked`, their questions are printed on the terminal, so the view leaves them out there. */
export function runOutput(mode: OutputMode, requests: Permissions['kind']): RunOutput {
  switch (mode) {
    case 'view':
      return new ViewOutput(requests);
    case 'json':
      return { show: (event) => print(jsonLine(event)), ...nothingToPause };
    case 'answers':
      return { show: showAnswer, ...nothingToPause };
  }
}

const nothingToPause = { pauseFor: <T>(question: () => Promise<T>) => question(), [Symbol.dispose]() {} };

class ViewOutput implements RunOutput {
  readonly #view = new RunView({ isColoured: isColoured(process.stdout) });
  readonly #live = isScreen() ? new LiveLine({ draw, paint: dimmed, columns: screenColumns }) : undefined;
  readonly #requests: Permissions['kind'];
  #isTurnUnderWay = false;

  constructor(requests: Permissions['kind']) {
    this.#requests = requests;
  }

  async show(event: SeenEvent): Promise<void> {
    if (event.type === 'permission' && this.#requests === 'asked' && process.stdout.isTTY) return;
    if (event.type === 'turnStarted') this.#isTurnUnderWay = true;
    if (event.type === 'turnEnded' || event.type === 'ended') this.#isTurnUnderWay = false;
    // Between turns the user may be typing the next prompt.
    if (this.#isTurnUnderWay) this.#live?.start();
    else this.#live?.stop();
    if (event.type === 'status' && event.isTransient === true) this.#live?.describe(event.status);
    await this.#print(this.#view.show(event));
  }

  async pauseFor<T>(question: () => Promise<T>): Promise<T> {
    this.#live?.stop();
    await this.#print(this.#view.endLine());
    const answer = await question();
    this.#live?.start();
    return answer;
  }

  [Symbol.dispose](): void {
    this.#live?.stop();
  }

  async #print(text: string): Promise<void> {
    if (text !== '') await print(this.#live?.replacedBy(text) ?? text);
  }
}

/** Prints answers on stdout and failures on stderr. */
async function showAnswer(event: SeenEvent): Promise<void> {
  if (event.type === 'turnEnded') {
    const { isError, text, reason } = event.result;
    if (isError) await complain(`the turn failed: ${text === '' ? reason : text}`);
    else if (text !== '') await print(answerLines(text));
  }
  if (event.type === 'ended' && event.outcome.kind !== 'completed') await complain(outcomeLine(event.outcome));
}

/** A script gets the answer verbatim; on a terminal, control characters are made visible so that the agent cannot steer it. */
function answerLines(text: string): string {
  const lines = text.endsWith('\n') ? text : `${text}\n`;
  return process.stdout.isTTY ? visibleLines(lines) : lines;
}

/** Whether stdout is a terminal that can erase text. */
function isScreen(): boolean {
  return process.stdout.isTTY && process.env['TERM'] !== 'dumb';
}

/** Width assumed for a terminal that does not report its own. */
const fallbackColumns = 80;

function screenColumns(): number {
  const { columns } = process.stdout;
  return columns > 0 ? columns : fallbackColumns;
}

function dimmed(text: string): string {
  return isColoured(process.stdout) ? paint('gray', text) : text;
}

function draw(text: string): void {
  print(text).catch(() => {}); // a lost terminal is noticed when the next event is printed
}
