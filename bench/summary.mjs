// Turns samples into rows: for each figure the medians of the rounds, their spread, and how the servers compare.

import { median } from '../scripts/measure.mjs';

/** @import { AnyLine, Metric, Transport, Values } from './line.mjs' */

/** @typedef {{ line: string, transport: Transport, contender: 'sluice' | 'codex' | 'floor', round: number, values: Values }} Sample */
/** @typedef {{ median: number, least: number, most: number, values: number[] }} Spread */
/** @typedef {ReturnType<typeof rowOf>} Row */

/** @param {{ lines: AnyLine[], samples: Sample[], transports: Transport[] }} outcome */
export function summarize({ lines, samples, transports }) {
  return lines.flatMap((line) =>
    transports
      .filter((transport) => (line.transports ?? ['ws', 'stdio']).includes(transport))
      .flatMap((transport) =>
        Object.entries(line.metrics).map(([key, metric]) => rowOf({ line, transport, key, metric, samples })),
      )
      // A quick run stops before the larger counts.
      .filter(({ sluice, codex, floor }) => sluice !== undefined || codex !== undefined || floor !== undefined),
  );
}

/** @param {{ line: AnyLine, transport: Transport, key: string, metric: Metric, samples: Sample[] }} row */
function rowOf({ line, transport, key, metric, samples }) {
  /**
   * @param {Sample['contender']} contender
   * @param {{ name?: string, figure?: string }} [which]
   */
  const over = (contender, { name = line.name, figure = key } = {}) =>
    spreadOf(
      samples
        .filter((sample) => sample.line === name && sample.transport === transport && sample.contender === contender)
        .map(({ values }) => values[figure])
        .filter((value) => value !== undefined),
    );
  const sluice = over('sluice');
  const codex = metric.against === 'floor' ? undefined : over('codex', { name: line.codexFrom });
  const floor = over('floor');
  const other = comparedWith(metric, { codex, floor, own: (figure) => over('sluice', { figure }) });
  const ratio = ratioOf(sluice, other, metric.better);
  const atLeast = metric.atLeast?.[transport];
  return {
    line: line.name,
    figure: metric.name,
    transport,
    unit: metric.unit,
    better: metric.better,
    sluice,
    codex,
    floor,
    ratioTo: metric.against ?? 'codex',
    ratio,
    atLeast,
    isMet: ratio === undefined || atLeast === undefined ? undefined : ratio >= atLeast,
  };
}

/**
 * Codex, unless the figure is compared with a floor or with another figure of the same line.
 * @param {Metric} metric
 * @param {{ codex: Spread | undefined, floor: Spread | undefined, own: (figure: string) => Spread | undefined }} spreads
 */
function comparedWith({ against = 'codex' }, { codex, floor, own }) {
  if (against === 'codex') return codex;
  return against === 'floor' ? floor : own(against);
}

/**
 * Above 1 Sluice is better, whichever direction is better for the figure.
 * @param {Spread | undefined} sluice
 * @param {Spread | undefined} other
 * @param {'lower' | 'higher'} better
 */
function ratioOf(sluice, other, better) {
  if (sluice === undefined || other === undefined) return undefined;
  return better === 'lower' ? other.median / sluice.median : sluice.median / other.median;
}

/**
 * @param {number[]} values
 * @returns {Spread | undefined}
 */
function spreadOf(values) {
  if (values.length === 0) return undefined;
  return { median: median(values), least: Math.min(...values), most: Math.max(...values), values };
}

/**
 * The floor of each line.
 * @param {AnyLine[]} lines
 */
export function floorsOf(lines) {
  return lines.flatMap(({ name, floor }) => (floor === undefined ? [] : [{ line: name, floor: floor.name }]));
}
