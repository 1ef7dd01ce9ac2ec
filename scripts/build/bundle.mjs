// Packs the command line into few files, since each one more is felt at every start. CommonJS, because Node 20 takes 20 ms longer
// to begin the same program as ES modules. What a command does not need is in files that it does not load.

import { chmodSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build, transform } from 'esbuild';
import { packSuffix, packedCommands, writePacks } from './pack.mjs';
import { shellHead } from './starter.mjs';
import { root } from '../tool.mjs';

/** Stay packages: they have binaries. */
const external = ['koffi', '@lydell/node-pty'];

/** What Node itself has loaded before it comes to us. Everything else it is asked for when it is first used. */
const loadedByNode = ['buffer', 'events', 'fs', 'path', 'process', 'timers', 'url', 'util'].map((name) => `node:${name}`);

/** The oldest Node that package.json takes. */
const oldestNode = 'node20.19';

/**
 * What comes first. Where the pack of a command was made by this very engine, it is taken: all files of the command as one script, with
 * what V8 had compiled of it. Its modules are entered as if they had been required, so that files outside of it find them.
 *
 * Without: Node 22 and newer keep what they have compiled. In the user's own folder: whoever can write there decides what is run, so
 * the default below /tmp, which belongs to whoever comes first, will not do.
 */
const starter = `${shellHead}'use strict';
const pack = __dirname + '/' + process.argv[2] + ${packSuffix};
const { readFileSync } = require('node:fs');
let cachedData;
try {
  if (/^(?:${packedCommands.join('|')})$/.test(process.argv[2])) cachedData = readFileSync(pack + '.cache');
} catch {}
if (cachedData === undefined) {
  const { XDG_CACHE_HOME, HOME } = process.env;
  const cache = XDG_CACHE_HOME || (HOME && HOME + '/.cache');
  if (cache && cache.startsWith('/')) require('node:module').enableCompileCache?.(cache + '/sluice');
  require('./main.cjs');
} else {
  const { Script } = require('node:vm');
  const modules = new Script(readFileSync(pack, 'latin1'), { filename: pack, cachedData }).runInThisContext();
  const load = (name) => {
    const define = name.startsWith('./') ? modules[name] : undefined;
    if (define === undefined) return require(name);
    const filename = __dirname + name.slice(1);
    const known = require.cache[filename];
    if (known !== undefined) return known.exports;
    const module = new require.main.constructor(filename, require.main);
    require.cache[filename] = module;
    module.filename = filename;
    define.call(module.exports, module.exports, load, module, filename, __dirname);
    module.loaded = true;
    return module.exports;
  };
  load('./main.cjs');
}
`;

/**
 * @param {string} compiled folder of the compiled sources
 * @param {string} folder to fill; what was in it is removed
 */
export async function bundleCommandLine(compiled, folder) {
  const entry = path.join(compiled, 'cli', 'main.js');
  const { outputFiles, metafile } = await build({
    entryPoints: { main: entry },
    outdir: folder,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    splitting: true,
    format: 'esm', // the only format that esbuild splits
    platform: 'node',
    target: oldestNode,
    external,
    sourcemap: 'inline',
    metafile: true,
    write: false,
    plugins: [sources(compiled, entry)],
  });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const file of outputFiles) await writeAsCommonJs(file);
  writeFileSync(path.join(folder, 'sluice.cjs'), starter);
  chmodSync(path.join(folder, 'sluice.cjs'), 0o755);
  writeFileSync(path.join(folder, 'LICENSES.txt'), licensesOf(Object.keys(metafile.inputs)));
  await writePacks(folder);
}

async function writeAsCommonJs({ path: file, text }) {
  const { code, map } = await transform(text, {
    format: 'cjs',
    platform: 'node',
    target: oldestNode,
    supported: { 'dynamic-import': false }, // require, which spares Node the start of its other loader
    banner: '"use strict";', // as every ES module is
    sourcemap: 'external',
    sourcefile: file,
  });
  writeFileSync(file, `${withLateBuiltIns(code)}//# sourceMappingURL=${path.basename(file)}.map\n`);
  writeFileSync(`${file}.map`, map);
}

/** Of Node's own modules a command uses few, and each costs up to 10 ms: they are required where they are used, the first time. */
function withLateBuiltIns(code) {
  const imports = code.matchAll(/^var (import_\w+) = require\("(node:[^"]+)"\);$/gm);
  const late = [...imports].filter(([, , specifier]) => !loadedByNode.includes(specifier));
  return late.reduce(
    (text, [declaration, name, specifier]) =>
      text
        .replace(declaration, `var ${name};`)
        .replaceAll(new RegExp(`\\b${name}\\.`, 'g'), `(${name} ??= require("${specifier}")).`),
    code,
  );
}

/** Reads our own files, changed so that they can be split well and be CommonJS. Lines stay where they are, for the source maps. */
function sources(compiled, entry) {
  return {
    name: 'sources',
    setup({ onLoad }) {
      onLoad({ filter: /\.js$/ }, ({ path: file }) => {
        if (!file.startsWith(compiled + path.sep)) return undefined;
        if (file === path.join(compiled, 'server', 'version.js')) return { contents: versionModule() };
        const text = withModuleUrl(pastIndexes(readFileSync(file, 'utf8'), file));
        return { contents: file === entry ? withoutAwait(text.replace(/^#!/, '//')) : text };
      });
    },
  };
}

/** The version as it is now, which spares every start the reading of package.json: 4 ms. */
function versionModule() {
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  return `export const version = ${JSON.stringify(version)};`;
}

/**
 * Imports from an index.js become imports from where the name is defined. esbuild splits by what a file could reach, and through
 * an index that is everything behind it.
 */
function pastIndexes(text, file) {
  const from = (index, name) => {
    const { origin, original } = originOf(path.join(path.dirname(file), index), name);
    return { specifier: specifierOf(origin, file), original };
  };
  return text
    .replaceAll(/^import \{([^}]*)\} from '([^']*\/index\.js)';$/gm, (_, names, index) =>
      namesIn(names)
        .map(({ name, as }) => ({ as, ...from(index, name) }))
        .map(({ specifier, original, as }) => `import { ${original} as ${as} } from '${specifier}';`)
        .join(' '),
    )
    .replaceAll(/\(await import\('([^']*\/index\.js)'\)\)\.(\w+)/g, (_, index, name) => {
      const { specifier, original } = from(index, name);
      return `(await import('${specifier}')).${original}`;
    });
}

/** Where an index has a name from; the index itself when it does not pass it on. */
function originOf(index, name) {
  for (const [, names, next] of readFileSync(index, 'utf8').matchAll(/^export \{([^}]*)\} from '([^']+)';$/gm)) {
    const passedOn = namesIn(names).find(({ as }) => as === name);
    if (passedOn === undefined) continue;
    const origin = path.join(path.dirname(index), next);
    return path.basename(origin) === 'index.js' ? originOf(origin, passedOn.name) : { origin, original: passedOn.name };
  }
  return { origin: index, original: name };
}

/** What stands between the braces of an import or export. */
function namesIn(list) {
  return list
    .split(',')
    .map((part) => part.trim().split(' as '))
    .filter(([name]) => name !== '')
    .map(([name, as = name]) => ({ name, as }));
}

function specifierOf(origin, file) {
  const relative = path.relative(path.dirname(file), origin);
  return relative.startsWith('.') ? relative : `./${relative}`;
}

/** Paths relative to a file hold for those as deep as the bundle is, as the one to package.json. Packages are found from anywhere. */
function withModuleUrl(text) {
  if (!text.includes('import.meta.url')) return text;
  return `import { pathToFileURL } from 'node:url'; ${text.replaceAll('import.meta.url', 'pathToFileURL(__filename).href')}`;
}

/** CommonJS has no await outside of functions. With or without: a program that never comes to its end has exit code 13. */
function withoutAwait(text) {
  const [imports] = /^(?:(?:\/\/|import ).*\n)*/.exec(text);
  return `${imports}process.exitCode = 13; void (async () => { ${text.slice(imports.length)}\n})();`;
}

/** The terms of the packages whose code is in the files, which ask to be kept with it. */
function licensesOf(inputs) {
  const folders = new Set(inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? []));
  return [...folders]
    .map((folder) => {
      const license = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
      if (license === undefined) throw new Error(`${folder} has no license file to pass on`);
      return `${folder.replace(/^.*node_modules\//, '')}\n\n${readFileSync(path.join(folder, license), 'utf8')}`;
    })
    .join('\n');
}
