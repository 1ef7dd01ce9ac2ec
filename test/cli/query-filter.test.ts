// Queries to the terminal are removed from old output, and nothing else.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { QueryFilter, maxHeldBytes } from '#src/cli/query-filter.js';

const esc = '\x1b';
const st = `${esc}\\`;

/** Filters the text in pieces that end at these places. */
function filtered(text: string, cuts: readonly number[] = []): string {
  const bytes = Buffer.from(text, 'latin1');
  const filter = new QueryFilter();
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((one, other) => one - other), bytes.length];
  const pieces = places.slice(1).map((end, index) => filter.push(bytes.subarray(places[index], end)));
  return Buffer.concat([...pieces, filter.end()]).toString('latin1');
}

const queries: Readonly<Record<string, string>> = {
  DA1: `${esc}[c`,
  'DA1 with a zero': `${esc}[0c`,
  DA2: `${esc}[>c`,
  'DA2 with a zero': `${esc}[>0c`,
  DA3: `${esc}[=c`,
  DECID: `${esc}Z`,
  ENQ: '\x05',
  status: `${esc}[5n`,
  'cursor position': `${esc}[6n`,
  'cursor position and page': `${esc}[?6n`,
  'colour scheme': `${esc}[?996n`,
  'DECRQM of a private mode': `${esc}[?2026$p`,
  DECRQM: `${esc}[4$p`,
  XTVERSION: `${esc}[>q`,
  'XTVERSION with a zero': `${esc}[>0q`,
  XTGETTCAP: `${esc}P+q544e;436f${st}`,
  DECRQSS: `${esc}P$q q${st}`,
  foreground: `${esc}]10;?${st}`,
  'background, ended by BEL': `${esc}]11;?\x07`,
  'foreground, background and cursor': `${esc}]10;?;?;?\x07`,
  'a colour of the palette': `${esc}]4;12;?${st}`,
  'several colours of the palette': `${esc}]4;0;?;1;?\x07`,
  clipboard: `${esc}]52;c;?${st}`,
  'kitty keyboard': `${esc}[?u`,
  'kitty graphics': `${esc}_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA${st}`,
  'kitty graphics without content': `${esc}_Ga=q,i=1${st}`,
  'kitty colours': `${esc}]21;foreground=?;cursor=?${st}`,
  'kitty pointer': `${esc}]22;?__current__${st}`,
  'modifier keys': `${esc}[?4m`,
  'sixel limits': `${esc}[?2;1;0S`,
  'window size in pixels': `${esc}[14t`,
  'text area in pixels': `${esc}[14;2t`,
  'cell size': `${esc}[16t`,
  'text area in characters': `${esc}[18t`,
  'screen in characters': `${esc}[19t`,
  'icon label': `${esc}[20t`,
  title: `${esc}[21t`,
  'terminal parameters': `${esc}[x`,
  'tab stops': `${esc}[2$w`,
  checksum: `${esc}[1;1;1;1;1;1*y`,
  'cell size of iTerm2': `${esc}]1337;ReportCellSize\x07`,
  'through tmux': `${esc}Ptmux;${esc}${esc}[c${esc}${esc}]11;?\x07${st}`,
};

const others: Readonly<Record<string, string>> = {
  colours: `${esc}[1;38;2;1;2;3mred${esc}[0m`,
  'screen, cursor and mouse': `${esc}[?1049h${esc}[?25l${esc}[?1002h${esc}[?1006h${esc}[?2004h${esc}[?1h${esc}=`,
  'cursor shape': `${esc}[2 q`,
  'cursor appearance of the Linux console': `${esc}[?1c`,
  'save and restore': `${esc}7${esc}8${esc}[s${esc}[u`,
  'kitty keyboard, pushed, set and popped': `${esc}[>1u${esc}[=1;1u${esc}[<u`,
  'modifier keys, set': `${esc}[>4;2m${esc}[>4n`,
  'titles pushed and popped, window resized': `${esc}[22;0t${esc}[23;0t${esc}[8;24;80t`,
  'title that looks like a query': `${esc}]0;?\x07${esc}]2;10;?${st}`,
  'colours, set': `${esc}]11;rgb:00/00/00${st}${esc}]4;1;#ff0000\x07${esc}]104\x07`,
  link: `${esc}]8;;https://example.org/?a;?${st}here${esc}]8;;${st}`,
  'clipboard, set': `${esc}]52;c;aGk=\x07`,
  sixel: `${esc}P0;1q"1;1;2;2#0;2;0;0;0~~${st}`,
  'kitty graphics': `${esc}_Ga=T,f=100,i=1;AAAA${st}`,
  'charset and region': `${esc}(B${esc}[1;20r${esc}[2J${esc}[H`,
  'letters with bytes of eight-bit controls': Buffer.from('ěšČ“€\u{1f600}').toString('latin1'),
  'an unfinished sequence': `${esc}[12;`,
  'a lone escape character': esc,
  'a sequence broken off': `${esc}[12\x18ab${esc}]10;\x1aab`,
  'a string that ends with an escape character': `${esc}]10;${esc}`,
  'a string broken off by a sequence': `${esc}]10;${esc}[1mab`,
};

for (const [name, query] of Object.entries(queries)) {
  test(`removes a query: ${name}`, () => assert.equal(filtered(`before${query}after`), 'beforeafter'));
}

for (const [name, kept] of Object.entries(others)) {
  test(`keeps what is not a query: ${name}`, () => assert.equal(filtered(`before${kept}`), `before${kept}`));
}

test('keeps control characters in the middle of a query', () => {
  assert.equal(filtered(`a${esc}[6\r\nnb`), 'a\r\nb');
});

test('keeps what follows an aborted query', () => {
  assert.equal(filtered(`a${esc}P+q54\x18b${esc}P+q54${esc}[1mc`), `ab${esc}[1mc`);
});

test('passes a sequence that is too long to be a query, and finds the next one', () => {
  for (const long of [`${esc}]52;c;${'A'.repeat(maxHeldBytes)}\x07`, `${esc}[${'1;'.repeat(maxHeldBytes)}m`]) {
    assert.equal(filtered(`${long}a${esc}[6nb`), `${long}ab`);
  }
});

test('gives the same result however the bytes are split', () => {
  const piece = fc.constantFrom(...Object.values(queries), ...Object.values(others), 'text', '\r\n', ';?', st, '\x07');
  const pieces = fc.array(fc.oneof(piece, fc.string({ maxLength: 3 })), { maxLength: 12 });
  fc.assert(
    fc.property(pieces, fc.array(fc.nat(), { maxLength: 8 }), (parts, cuts) => {
      const all = parts.join('');
      const bytes = Buffer.from(all, 'latin1').toString('latin1');
      assert.equal(filtered(bytes, cuts), filtered(bytes));
    }),
  );
});

test('removes every query among other output, however it is split', () => {
  const query = fc.constantFrom(...Object.values(queries)).map((text) => ({ text, isKept: false }));
  const whole = Object.entries(others).filter(([name]) => !/unfinished|lone|broken|ends with/.test(name));
  const other = fc.constantFrom(...whole.map(([, text]) => text), 'text\r\n').map((text) => ({ text, isKept: true }));
  fc.assert(
    fc.property(fc.array(fc.oneof(query, other), { maxLength: 12 }), fc.array(fc.nat(), { maxLength: 8 }), (parts, cuts) => {
      const kept = parts.flatMap(({ text, isKept }) => (isKept ? [text] : []));
      assert.equal(filtered(parts.map(({ text }) => text).join(''), cuts), kept.join(''));
    }),
  );
});
