// Writes the pages in docs that are generated from the built program. With --print, it writes one page to stdout instead: `--print cli`,
// `--print man` for the man page (a file that the build writes), or docs/protocol.md without a name.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { cliPage } from './cli-page.mjs';
import { manPage } from './man-page.mjs';
import { protocolPage } from './protocol-page.mjs';
import { root } from '../tool.mjs';

const { values, positionals } = parseArgs({ options: { print: { type: 'boolean', default: false } }, allowPositionals: true });

if (values.print) process.stdout.write(await page(positionals[0] ?? 'protocol'));
else for (const name of ['protocol', 'cli']) writeFileSync(path.join(root, 'docs', `${name}.md`), await page(name));

/** @param {string} name */
async function page(name) {
  switch (name) {
    case 'protocol':
      return protocolPage();
    case 'cli':
      return cliPage();
    case 'man':
      return manPage();
    default:
      throw new Error(`the page must be protocol, cli or man, got "${name}"`);
  }
}
