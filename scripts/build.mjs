// Builds the package into dist: compiles src, drops what an older source left behind, and derives the JSON Schema of the protocol.

import { chmodSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root, succeeds, tool } from './tool.mjs';

const source = path.join(root, 'src');
const output = path.join(root, 'dist');

if (!succeeds(tool('tsc'), ['-b', 'tsconfig.json'])) process.exit(1);
removeOrphans();
makeExecutable(path.join(output, 'cli', 'main.js'));
await writeSchema(path.join(output, 'protocol', 'schema.json'));

/** The compiler never deletes: without this a removed source would live on in dist, and in the published package. */
function removeOrphans() {
  for (const entry of readdirSync(output, { recursive: true, withFileTypes: true })) {
    const compiled = path.join(entry.parentPath, entry.name);
    const match = /^(.*?)(?:\.d\.ts|\.js)(?:\.map)?$/.exec(path.relative(output, compiled));
    if (entry.isFile() && match && !existsSync(path.join(source, `${match[1]}.ts`))) rmSync(compiled);
  }
}

function makeExecutable(file) {
  if (existsSync(file)) chmodSync(file, 0o755);
}

async function writeSchema(file) {
  const { protocolSchema } = await import('./protocol-schema.mjs');
  writeFileSync(file, `${JSON.stringify(protocolSchema(), undefined, 2)}\n`);
}
