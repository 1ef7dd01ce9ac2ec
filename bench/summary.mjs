// Samples into rows: for each figure the medians of the rounds, their spread, and how the servers compare.

import { median } from '../scripts/measure.mjs';

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

function rowOf({ line, transport, key, metric, samples }) {
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

/** Codex, unless the figure is about something else: a floor, or another figure of the same line. */
function comparedWith({ against = 'codex' }, { codex, floor, own }) {
  if (against === 'codex') return codex;
  return against === 'floor' ? floor : own(against);
}

/** Above 1 Sluice is better, whatever the figure is. */
function ratioOf(sluice, other, better) {
  if (sluice === undefined || other === undefined) return undefined;
  return better === 'lower' ? other.median / sluice.median : sluice.median / other.median;
}

function spreadOf(values) {
  if (values.length === 0) return undefined;
  return { median: median(values), least: Math.min(...values), most: Math.max(...values), values };
}

/** What the floor of each line is. */
export function floorsOf(lines) {
  return lines.filter(({ floor }) => floor !== undefined).map(({ name, floor }) => ({ line: name, floor: floor.name }));
}
