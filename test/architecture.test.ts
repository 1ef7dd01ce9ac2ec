// The architecture of src: which folder may import which, and what no file may contain. Each rule is also tested with violations, which it
// must detect.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as rules from './architecture-rules.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = typescriptIn('src');

test('the rules check all of src', () => {
  assert.ok(sources.some((source) => source.path === 'protocol/methods.ts'));
});

holds('imports follow the direction table', rules.importsFollowTheTable, {
  'a process that imports JSON-RPC': { 'process/child.ts': "import { call } from '../rpc/connection.js';" },
  'a client that imports the server': { 'client/client.ts': "import type { Server } from '../server/index.js';" },
  'a server that imports the client': { 'server/server.ts': "export { connect } from '../client/index.js';" },
  'a base that imports another folder': { 'base/clock.ts': "import '../protocol/index.js';" },
  'a sibling imported dynamically': {
    'transport/endpoint.ts': "const spawn = await import('../process/start/spawn.js');",
  },
  'a main entry point that imports the server': { 'index.ts': "import {\n  createServer,\n} from './server/index.js';" },
});

holds('every folder has a row in the direction table', rules.everyFolderHasARow, {
  'a new folder': { 'misc/thing.ts': '' },
  'a file next to the folders': { 'thing.ts': '' },
});

holds('the command line imports only the indexes of other folders', rules.cliImportsOnlyIndexes, {
  'a deep path': { 'cli/serve.ts': "import { Session } from '../server/session.js';" },
});

holds('folders do not import each other in a cycle', rules.foldersHaveNoCycle, {
  'a cycle of two below a third folder': {
    'rpc/connection.ts': "import { log } from '../base/logger.js';",
    'base/logger.ts': "import { io } from '../protocol/process.js';",
    'protocol/process.ts': "import { ring } from '../base/ring.js';",
  },
});

holds('no private part of Node or of a package is used', rules.nothingPrivateIsUsed, {
  'a file inside a package': {
    'process/linux/libc.ts': "const koffi = createRequire(import.meta.url)('koffi/build/koffi.node');",
  },
  'a file inside a scoped package': { 'process/spawn.ts': "import pty from '@lydell/node-pty/lib/unixTerminal.js';" },
  'a private module of Node': { 'transport/listening.ts': "import { parsers } from 'node:_http_common';" },
  'a private member': { 'transport/listening.ts': 'server._listen2(path);' },
  'a binding': { 'process/spawn.ts': "process.binding('spawn_sync');" },
});

holds(
  'the build rewrites no code',
  rules.theBuildRewritesNothing,
  {
    'a regular expression over the output': { 'bundle.mjs': "writeFileSync(file, code.replace(/require/g, 'load'));" },
    'a plugin': { 'bundle.mjs': 'await build({ plugins: [lazy] });' },
    'a code cache': { 'bundle.mjs': 'const script = new Script(code, { cachedData });' },
  },
  filesIn('scripts/build'),
);

test('the starter is shipped unchanged', () => {
  assert.equal(
    readFileSync(path.join(root, 'dist/bin/sluice.cjs'), 'utf8'),
    readFileSync(path.join(root, 'src/cli/sluice.cjs'), 'utf8'),
  );
});

holds('sources import each other by relative path', rules.sourcesImportByRelativePath, {
  'the alias made for tests': { 'server/session.ts': "import { io } from '#src/protocol/process.js';" },
  'the name of the package': { 'cli/main.ts': "import { connect } from 'sluice';" },
});

holds('every import is a string literal', rules.everyImportIsALiteral, {
  'a computed name': { 'process/start/spawn.ts': 'await import(backend);' },
});

holds('neutral folders import no built-ins of Node', rules.neutralFoldersImportNoBuiltIns, {
  'a built-in': { 'rpc/connection.ts': "import { EventEmitter } from 'node:events';" },
  'a built-in without the node: prefix': { 'base/clock.ts': "import type { Readable } from 'stream';" },
});

holds('the code that a browser loads does not depend on Node', rules.neutralEntriesDoNotNeedNode, {
  'a built-in two imports away': {
    'client/index.ts': "export { connect } from './connect.js';",
    'client/connect.ts': "import { listen } from '../transport/stdio-channel.js';",
    'protocol/index.ts': '',
    'transport/stdio-channel.ts': "import { pipeline } from 'node:stream/promises';",
  },
  'a package that needs Node': { 'client/index.ts': "import { WebSocket } from 'ws';", 'protocol/index.ts': '' },
  'a missing entry': { 'client/index.ts': '' },
});

holds('each native module is imported in one file', rules.nativeModulesHaveOneImporter, {
  'koffi in another file': { 'process/linux/reaper.ts': "const { load } = await import('koffi');" },
  'koffi by createRequire': { 'process/start/spawn.ts': "const koffi = createRequire(import.meta.url)('koffi');" },
  'node-pty in another folder': { 'process/start/spawn.ts': "import { spawn } from '@lydell/node-pty';" },
  'node-pty twice': {
    'process/portable/pty-child.ts': "import { spawn } from '@lydell/node-pty';",
    'process/portable/resize.ts': "import type { IPty } from '@lydell/node-pty';",
  },
});

holds('no file is too long to read in one sitting', rules.noFileIsTooLong, {
  'a long file': { 'server/server.ts': '\n'.repeat(301) },
});

holds('no type is any', rules.noTypeIsAny, {
  'an annotation': { 'server/server.ts': 'function accept(message: any) {}' },
  'a cast': { 'server/server.ts': 'const id = message as any;' },
  'a type argument': { 'server/server.ts': 'const table = new Map<string, any>();' },
});

holds('only one file of the command line writes to stdout and stderr', rules.onlyOwnOutputWrites, {
  'output that may be lost silently': { 'cli/ps.ts': 'process.stdout.write(table);' },
  'an error message that may end the program': { 'cli/kill.ts': "process.stderr.write('sluice: no');" },
});

holds('exports are named', rules.exportsAreNamed, {
  'a star': { 'client/index.ts': "export * from './client.js';" },
  'a default': { 'client/client.ts': 'export default class {}' },
  'a default by renaming': { 'client/client.ts': 'export { Client as default };' },
});

holds('the compiler is never silenced', rules.theCompilerIsNeverSilenced, {
  'an ignored line': { 'server/server.ts': '// @ts-ignore\nfoo();' },
  'an expected error': { 'server/server.ts': '/* @ts-expect-error */ foo();' },
});

holds('file names are specific', rules.fileNamesAreSpecific, {
  'a manager file': { 'process/process-manager.ts': '' },
  'a utilities file': { 'base/utils.ts': '' },
});

test('file names of tests and scripts are specific', () => {
  assert.deepEqual(rules.fileNamesAreSpecific([...typescriptIn('test'), ...filesIn('scripts')]), []);
});

/** Tests that the rule finds nothing in the files and detects each of the violations. */
// oxlint-disable-next-line eslint/max-params -- one rule checks other files than src
function holds(
  sentence: string,
  rule: rules.Rule,
  violations: Readonly<Record<string, Readonly<Record<string, string>>>>,
  files: readonly rules.Source[] = sources,
): void {
  describe(sentence, () => {
    test('in every file', () => {
      assert.deepEqual(rule(files), []);
    });
    for (const [violation, wrong] of Object.entries(violations)) {
      test(`and detects ${violation}`, () => {
        const found = rule(Object.entries(wrong).map(([file, text]) => ({ path: file, text: `${text}\n` })));
        assert.equal(found.length, 1, found.join('\n'));
      });
    }
  });
}

function typescriptIn(folder: string): rules.Source[] {
  return filesIn(folder).filter((source) => source.path.endsWith('.ts'));
}

function filesIn(folder: string): rules.Source[] {
  return readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .map((file) => ({
      path: path.relative(path.join(root, folder), file).replaceAll(path.sep, '/'),
      text: readFileSync(file, 'utf8'),
    }));
}
