// Rows as Markdown.

import { tableHead, tableRow } from '../scripts/measure.mjs';

export function markdownOf(rows) {
  const head = tableHead('line', 'figure', 'over', 'unit', 'sluice', 'codex', 'floor', 'ratio', 'wanted', 'met');
  return [head, ...rows.map(rowText)].join('\n');
}

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

function spreadText(spread) {
  if (spread === undefined) return '';
  const { median, least, most, values } = spread;
  return values.length === 1 ? numberText(median) : `${numberText(median)} (${numberText(least)} to ${numberText(most)})`;
}

function numberText(value) {
  return value >= 1000 ? `${Math.round(value)}` : `${Number(value.toPrecision(3))}`;
}

function ratioText(ratio) {
  return `${ratio >= 10 ? Math.round(ratio) : Number(ratio.toFixed(2))}×`;
}
