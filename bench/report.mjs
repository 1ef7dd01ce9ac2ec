// The results as Markdown: a table, and the notes needed to read it.

import { tableHead, tableRow } from '../scripts/measure.mjs';

/** @import { Checked, Failure } from './run.mjs' */
/** @import { Row, Spread } from './summary.mjs' */

/**
 * @typedef {object} Circumstances
 * @property {{ node: string, processors: string }} machine
 * @property {{ before: number, after: number }} load
 * @property {number} rounds
 * @property {number} seconds
 * @property {'quick' | 'full'} kind
 * @property {'nudge' | 'plain'} reads
 * @property {boolean} hasCodex
 * @property {Checked} checked
 * @property {Failure[]} failures
 * @property {{ line: string, floor: string }[]} floors
 */

/** @param {Circumstances & { rows: Row[] }} outcome */
export function markdownOf({ rows, ...circumstances }) {
  const head = tableHead('line', 'figure', 'over', 'unit', 'sluice', 'codex', 'floor', 'ratio', 'target', 'met');
  const notes = notesOf(circumstances).map((note) => `- ${note}`);
  return [head, ...rows.map(rowText), '', ...notes].join('\n');
}

/** @param {Circumstances} circumstances */
function notesOf({ machine, load, rounds, seconds, kind, reads, hasCodex, checked, failures, floors }) {
  const effort = `${rounds} ${rounds === 1 ? 'round' : 'rounds'} in ${seconds} s on ${machine.processors}, Node ${machine.node}`;
  const early = checked.reordered === 0 ? '' : `, of which ${checked.reordered} from codex arrived before their turn`;
  return [
    ...(kind === 'quick' ? ['A quick run only checks that everything works: its figures mean nothing.'] : []),
    `${effort}; the load was ${load.before.toFixed(1)} at the start and ${load.after.toFixed(1)} at the end.`,
    'Medians of the rounds, with minimum and maximum in parentheses. Ratios above 1: Sluice is better.',
    'All programs run in an environment without NODE_*; codex is the native program unless the line says otherwise.',
    ...(hasCodex ? [] : ['Codex was not measured.']),
    reads === 'nudge'
      ? 'Over ws the client of the latency lines answers each read, which hides that codex leaves TCP_NODELAY off.'
      : 'Over ws codex waits for the acknowledgement of each small message, because it leaves TCP_NODELAY off.',
    ...[...new Set(floors.map(({ floor }) => floor))].map((name) => `Floor of ${linesWith(floors, name)}: ${name}.`),
    `${checked.bytes} bytes and ${checked.events} events were checked${early}.`,
    ...failures.map(({ label, problem }) => `FAILED: ${label}: ${problem}`),
  ];
}

/**
 * @param {Circumstances['floors']} floors
 * @param {string} name
 */
function linesWith(floors, name) {
  return floors
    .filter(({ floor }) => floor === name)
    .map(({ line }) => `"${line}"`)
    .join(', ');
}

/** @param {Row} row */
function rowText({ line, figure, transport, unit, sluice, codex, floor, ratio, atLeast, isMet, ratioTo }) {
  return tableRow(
    line,
    figure,
    transport,
    unit,
    spreadText(sluice),
    spreadText(codex),
    spreadText(floor),
    ratio === undefined
      ? ''
      : `${ratioText(ratio)}${ratioTo === 'codex' ? '' : ratioTo === 'floor' ? ' of the floor' : ' of the first'}`,
    atLeast === undefined ? '' : `≥ ${ratioText(atLeast)}`,
    isMet === undefined ? '' : isMet ? 'yes' : 'NO',
  );
}

/** @param {Spread | undefined} spread */
function spreadText(spread) {
  if (spread === undefined) return '';
  const { median, least, most, values } = spread;
  return values.length === 1 ? numberText(median) : `${numberText(median)} (${numberText(least)} to ${numberText(most)})`;
}

/** @param {number} value */
function numberText(value) {
  return value >= 1000 ? `${Math.round(value)}` : `${Number(value.toPrecision(3))}`;
}

/** @param {number} ratio */
function ratioText(ratio) {
  return `${ratio >= 10 ? Math.round(ratio) : Number(ratio.toFixed(2))}×`;
}
