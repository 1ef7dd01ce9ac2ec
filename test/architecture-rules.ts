// The architecture rules, as functions from sources to violations. They know the folders of src, not their contents.

import { builtinModules } from 'node:module';
import path from 'node:path';

/** A file below src; the path is relative to src, with forward slashes. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

export type Rule = (sources: readonly Source[]) => string[];

/** Folder → folders it may import besides itself. The order is the order of the layers. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  base: [],
  native: [],
  protocol: ['base'],
  rpc: ['base'],
  transport: ['rpc', 'base'],
  process: ['protocol', 'native', 'base'],
  files: ['native', 'base'],
  server: ['process', 'files', 'transport', 'rpc', 'protocol', 'base'],
  client: ['transport', 'rpc', 'protocol', 'base'],
  local: ['client', 'server', 'files', 'transport', 'rpc', 'protocol', 'base'],
  runner: ['client', 'protocol', 'base'],
  cli: ['base', 'protocol', 'rpc', 'transport', 'process', 'server', 'client', 'local', 'runner', 'index.ts'],
  'index.ts': ['client', 'local', 'process', 'protocol'],
};

/** Folders that run in a browser as well as in Node. */
const neutralFolders = ['base', 'protocol', 'rpc', 'client'];
const neutralEntries = ['client/index.ts', 'protocol/index.ts'];
const neutralPackages = ['valibot'];

/** Maximum lines per file: what can be read top-down in one sitting. */
const longestFile = 300;

export const everyFolderHasARow: Rule = (sources) =>
  sources.filter((source) => !(folderOf(source.path) in mayImport)).map((source) => `${source.path} is in no known folder`);

export const importsFollowTheTable: Rule = (sources) =>
  eachImport(sources, (source, target) => {
    if (target.kind !== 'file') return undefined;
    const [from, to] = [folderOf(source.path), folderOf(target.path)];
    return from === to || mayImport[from]?.includes(to) ? undefined : `may not import ${target.path}`;
  });

export const cliImportsOnlyIndexes: Rule = (sources) =>
  eachImport(sources, (source, target) => {
    if (folderOf(source.path) !== 'cli' || target.kind !== 'file' || folderOf(target.path) === 'cli') return undefined;
    return path.posix.basename(target.path) === 'index.ts' ? undefined : `bypasses the index by importing ${target.path}`;
  });

/** Checks the imports themselves: the table above could contain a cycle. */
export const foldersHaveNoCycle: Rule = (sources) => {
  const neighbours = new Map<string, Set<string>>();
  for (const source of sources) {
    const imported = neighbours.get(folderOf(source.path)) ?? new Set();
    neighbours.set(folderOf(source.path), imported);
    for (const target of importsOf(source)) if (target.kind === 'file') imported.add(folderOf(target.path));
  }
  const cycle = [...neighbours.keys()].filter((folder) => {
    const reached = new Set([...(neighbours.get(folder) ?? [])].filter((next) => next !== folder));
    for (const next of reached) for (const further of neighbours.get(next) ?? []) reached.add(further);
    return reached.has(folder);
  });
  return cycle.length === 0 ? [] : [`${cycle.join(', ')} import each other`];
};

/** Packages are imported by name only; Node is used through its documented modules and members. */
export const nothingPrivateIsUsed: Rule = (sources) => [
  ...eachImport(sources, (_source, target) => {
    if (target.kind === 'package' && !/^(?:\.|(?:@[^/]+\/)?[^/]+$)/.test(target.name)) return `reaches into ${target.name}`;
    return target.kind === 'builtIn' && /(?:^|[:/])(?:internal|_)/.test(target.name) ? `reaches into ${target.name}` : undefined;
  }),
  ...eachMatch(
    sources,
    (text) => withoutStrings(withoutComments(text)),
    /(?<!\bthis)\??\._[a-z]\w*|\bprocess\.(?:binding|_linkedBinding)\b/,
  ),
];

/** For the build scripts: only the compiler and the bundler produce code. */
export const theBuildRewritesNothing: Rule = (scripts) =>
  eachMatch(
    scripts,
    withoutComments,
    /\.replace(?:All)?\(|\bplugins\b|\btransform\b|\binject\b|\bcachedData\b|\bcreateCachedData\b/,
  );

export const sourcesImportByRelativePath: Rule = (sources) =>
  eachImport(sources, (_source, target) =>
    target.kind === 'package' && /^(?:#|\/|file:|sluice(?:\/|$))/.test(target.name) ? `imports ${target.name}` : undefined,
  );

export const everyImportIsALiteral: Rule = (sources) =>
  sources
    .filter(({ text }) => /\bimport\s*\((?!\s*['"])/.test(withoutComments(text)))
    .map((source) => `${source.path} imports a module by a computed name`);

export const neutralFoldersImportNoBuiltIns: Rule = (sources) =>
  eachImport(sources, (source, target) =>
    target.kind === 'builtIn' && neutralFolders.includes(folderOf(source.path)) ? `imports ${target.name}` : undefined,
  );

/** Follows every import from the entries that a browser loads, through all folders. */
export const neutralEntriesDoNotNeedNode: Rule = (sources) => {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const missing = neutralEntries.filter((entry) => !byPath.has(entry)).map((entry) => `${entry} does not exist`);
  const reached = new Set(neutralEntries);
  for (const file of reached) {
    for (const target of importsOf(byPath.get(file) ?? { path: file, text: '' })) {
      if (target.kind === 'file') reached.add(target.path);
    }
  }
  const reachedSources = sources.filter((source) => reached.has(source.path));
  const foreign = eachImport(reachedSources, (_source, target) =>
    target.kind === 'builtIn' || (target.kind === 'package' && !neutralPackages.includes(target.name))
      ? `is loaded in browsers and imports ${target.name}`
      : undefined,
  );
  return [...missing, ...foreign];
};

export const nativeModulesHaveOneImporter: Rule = (sources) => {
  const importers = (name: string) =>
    sources.filter((source) => importsOf(source).some((target) => target.kind === 'package' && target.name === name));
  const ptyImporters = importers('@lydell/node-pty');
  return [
    ...importers('koffi').filter((source) => source.path !== 'native/koffi.ts'),
    ...ptyImporters.filter((source) => !source.path.startsWith('process/portable/')),
    ...ptyImporters.slice(1),
  ].map((source) => `${source.path} imports a native module`);
};

export const noFileIsTooLong: Rule = (sources) =>
  sources
    .map(({ path: file, text }) => ({ file, lines: text.split('\n').length - 1 }))
    .filter(({ lines }) => lines > longestFile)
    .map(({ file, lines }) => `${file} has ${lines} lines, at most ${longestFile} are allowed`);

export const noTypeIsAny: Rule = (sources) =>
  eachMatch(sources, (text) => withoutStrings(withoutComments(text)), /(?<![.\w$])any\b(?!\s*[(:])/);

export const onlyOwnOutputWrites: Rule = (sources) =>
  eachMatch(
    sources.filter((source) => source.path.startsWith('cli/') && source.path !== 'cli/own-output.ts'),
    (text) => withoutStrings(withoutComments(text)),
    /\bstd(?:out|err)\.write\b|\bconsole\b/,
  );

export const exportsAreNamed: Rule = (sources) =>
  eachMatch(
    sources,
    (text) => withoutStrings(withoutComments(text)),
    /\bexport\s*(?:type\s*)?\*|\bexport\s+default\b|\bas\s+default\b/,
  );

export const theCompilerIsNeverSilenced: Rule = (sources) =>
  eachMatch(sources, (text) => text, /@ts-(?:ignore|expect-error|nocheck)/);

export const fileNamesAreSpecific: Rule = (sources) =>
  sources
    .filter((source) => /manager|helper|util/i.test(path.posix.basename(source.path)))
    .map((source) => `${source.path} has an unspecific name: manager, helper or util`);

type Target =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'builtIn'; readonly name: string }
  | { readonly kind: 'package'; readonly name: string };

/** All static, type-only, re-exporting and dynamic imports, and calls of `require`. */
function importsOf(source: Source): Target[] {
  const text = withoutComments(source.text);
  const specifiers = [
    ...text.matchAll(/\b(?:import|export)\b[^'"`;()=]*?\bfrom\s*['"](?<specifier>[^'"]+)['"]/g),
    ...text.matchAll(/\bimport\s*['"](?<specifier>[^'"]+)['"]/g),
    ...text.matchAll(/\b(?:import|require|createRequire\([^()]*\))\s*\(\s*['"](?<specifier>[^'"]+)['"]/g),
  ];
  return specifiers.map(({ groups }) => targetOf(source, groups?.['specifier'] ?? ''));
}

function targetOf(source: Source, specifier: string): Target {
  if (/^\..*\.js$/.test(specifier)) {
    return { kind: 'file', path: path.posix.join(path.posix.dirname(source.path), specifier.replace(/\.js$/, '.ts')) };
  }
  if (specifier.startsWith('node:') || builtinModules.includes(specifier)) return { kind: 'builtIn', name: specifier };
  return { kind: 'package', name: specifier };
}

function eachImport(sources: readonly Source[], problemWith: (source: Source, target: Target) => string | undefined): string[] {
  return sources.flatMap((source) => {
    const problems = new Set(importsOf(source).map((target) => problemWith(source, target)));
    return [...problems].filter((problem) => problem !== undefined).map((problem) => `${source.path} ${problem}`);
  });
}

function eachMatch(sources: readonly Source[], read: (text: string) => string, pattern: RegExp): string[] {
  return sources.flatMap((source) => {
    const found = pattern.exec(read(source.text));
    return found === null ? [] : [`${source.path} contains "${found[0]}"`];
  });
}

/** `process/linux/libc.ts` → `process`, and `index.ts` → `index.ts`. */
function folderOf(file: string): string {
  return file.split('/')[0] ?? file;
}

const stringOrComment = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;

function withoutComments(text: string): string {
  return text.replaceAll(stringOrComment, (found: string) => (/^['"`]/.test(found) ? found : ' '));
}

function withoutStrings(text: string): string {
  return text.replaceAll(stringOrComment, "''");
}
