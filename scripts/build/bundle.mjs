// Bundles the command line into one file: reading many files is most of a start's time. CommonJS, because Node 20 takes 20 ms longer to
// start the same program as ES modules. A module that is imported with `await import()` runs when it is first imported.

import { chmodSync, copyFileSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { root } from '../tool.mjs';

/**
 * @param {string} compiled folder of the compiled sources
 * @param {string} folder to fill; what was in it is removed
 */
export async function bundleCommandLine(compiled, folder) {
  rmSync(folder, { recursive: true, force: true });
  const { metafile } = await build({
    entryPoints: [path.join(compiled, 'cli', 'main.js')],
    outfile: path.join(folder, 'main.cjs'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20.19', // the oldest that package.json takes
    external: ['koffi', '@lydell/node-pty'], // have binaries, and stay packages
    define: { 'import.meta.url': 'moduleUrl' },
    banner: { js: "'use strict'; const moduleUrl = require('node:url').pathToFileURL(__filename).href;" },
    sourcemap: true,
    metafile: true,
  });
  const program = path.join(folder, 'sluice.cjs');
  copyFileSync(path.join(root, 'src', 'cli', 'sluice.cjs'), program);
  chmodSync(program, 0o755);
  writeFileSync(path.join(folder, 'LICENSES.txt'), licensesOf(Object.keys(metafile.inputs)));
}

/**
 * The terms of the packages whose code is in the bundle, which ask to be kept with it.
 *
 * @param {string[]} inputs files that are in the bundle
 */
function licensesOf(inputs) {
  const folders = new Set(inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? []));
  return [...folders]
    .map((folder) => {
      const license = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
      if (license === undefined) throw new Error(`${folder} has no license file to pass on`);
      return `${folder.split('node_modules/').at(-1)}\n\n${readFileSync(path.join(folder, license), 'utf8')}`;
    })
    .join('\n');
}
