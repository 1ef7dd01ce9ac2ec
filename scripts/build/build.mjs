// Builds the package into dist: compiles src, removes the output of deleted sources, bundles the command line, and generates the
// JSON Schema of the protocol and the man page.

import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { bundleCommandLine } from './bundle.mjs';
import { root, succeeds, tool } from '../tool.mjs';

const source = path.join(root, 'src');
const output = path.join(root, 'dist');

if (!succeeds(tool('tsc'), ['-b', 'tsconfig.json'])) process.exit(1);
removeOrphans();
await bundleCommandLine(output, path.join(output, 'bin'));
await writeSchema(path.join(output, 'protocol', 'schema.json'));
await writeManPage(path.join(output, 'sluice.1'));

/** The compiler never deletes its output: without this, a deleted source would stay in dist and in the published package. */
function removeOrphans() {
  for (const entry of readdirSync(output, { recursive: true, withFileTypes: true })) {
    const compiled = path.join(entry.parentPath, entry.name);
    const match = /^(.*?)(?:\.d\.ts|\.js)(?:\.map)?$/.exec(path.relative(output, compiled));
    if (entry.isFile() && match && !existsSync(path.join(source, `${match[1]}.ts`))) rmSync(compiled);
  }
}

/** @param {string} file */
async function writeSchema(file) {
  const { protocolSchema } = await import('../docs/protocol-schema.mjs');
  writeFileSync(file, `${JSON.stringify(protocolSchema(), undefined, 2)}\n`);
}

/** @param {string} file */
async function writeManPage(file) {
  const { manPage } = await import('../docs/man-page.mjs');
  writeFileSync(file, await manPage());
}
