// Bundles the command line into one file, because reading many files takes most of the start-up time. CommonJS, because Node 20 takes
// 20 ms longer to start the same program as ES modules. A module that is imported with `await import()` runs when it is first imported.

import { chmodSync, copyFileSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { root } from '../tool.mjs';

/**
 * @param {string} compiled folder of the compiled sources
 * @param {string} folder for the bundle; its previous content is removed
 */
export async function bundleCommandLine(compiled, folder) {
  rmSync(folder, { recursive: true, force: true });
  const { metafile } = await build({
    entryPoints: [path.join(compiled, 'cli', 'main.js')],
    outfile: path.join(folder, 'main.cjs'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20.19', // the oldest version that package.json allows
    external: ['koffi', '@lydell/node-pty'], // contain native binaries, so they stay packages
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
 * The licenses of the bundled packages, which require that they accompany the code.
 *
 * @param {string[]} inputs files in the bundle
 */
function licensesOf(inputs) {
  const folders = new Set(inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? []));
  return [...folders]
    .map((folder) => {
      const license = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
      if (license === undefined) throw new Error(`${folder} has no license file to include`);
      return `${folder.split('node_modules/').at(-1)}\n\n${readFileSync(path.join(folder, license), 'utf8')}`;
    })
    .join('\n');
}
