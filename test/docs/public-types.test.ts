// Every type in a public signature is exported by a public entry point, so that a caller can name it. The main entry point itself exports
// the types of the client and the protocol, so that a program needs no second import.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseSync, visitorKeys } from 'oxc-parser';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { exports: entries } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
};

/** A syntax node; its members depend on its type. */
interface Syntax {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Where a name used in a file is declared: in this file, in another (possibly under another name), or in a package. */
type Origin =
  | { readonly kind: 'here'; readonly declaration: Syntax }
  | { readonly kind: 'file'; readonly file: string; readonly name: string }
  | { readonly kind: 'package' };

/** A declaration file: the origins of the names it uses and of those it exports. */
interface Declarations {
  readonly names: ReadonlyMap<string, Origin>;
  readonly exported: ReadonlyMap<string, Origin>;
  /** Exported as types only, so callers cannot construct a class among them. */
  readonly typesOnly: ReadonlySet<string>;
}

interface Found {
  readonly file: string;
  readonly name: string;
  readonly declaration: Syntax;
}

interface Exported extends Found {
  readonly isTypeOnly: boolean;
}

const parsed = new Map<string, Declarations>();

function declarationsIn(file: string): Declarations {
  const known = parsed.get(file);
  if (known !== undefined) return known;
  const { program, errors } = parseSync(file, readFileSync(file, 'utf8'));
  assert.deepEqual(errors, [], file);
  const names = new Map<string, Origin>();
  const exported = new Map<string, Origin>();
  const typesOnly = new Set<string>();
  for (const statement of partsOf(program)) readStatement(statement, { file, names, exported, typesOnly });
  const declarations = { names, exported, typesOnly };
  parsed.set(file, declarations);
  return declarations;
}

interface Reading {
  readonly file: string;
  readonly names: Map<string, Origin>;
  readonly exported: Map<string, Origin>;
  readonly typesOnly: Set<string>;
}

function readStatement(statement: Syntax, { file, names, exported, typesOnly }: Reading): void {
  const declaration = statement.type === 'ExportNamedDeclaration' ? part(statement['declaration']) : statement;
  const source = part(statement['source']);
  const from = (name: string): Origin => {
    const specifier = String(source?.['value']);
    if (!specifier.startsWith('.')) return { kind: 'package' };
    return { kind: 'file', file: path.resolve(path.dirname(file), specifier.replace(/\.js$/, '.d.ts')), name };
  };
  for (const specifier of partsOf(statement, 'specifiers')) {
    const [imported, local, outer] = ['imported', 'local', 'exported'].map((role) => nameOf(part(specifier[role])));
    if (statement.type === 'ImportDeclaration') names.set(local ?? '', from(imported ?? local ?? ''));
    else if (source !== undefined) exported.set(outer ?? '', from(local ?? ''));
    else exported.set(outer ?? '', { kind: 'file', file, name: local ?? '' });
    if ([statement, specifier].some((each) => each['exportKind'] === 'type')) typesOnly.add(outer ?? '');
  }
  if (declaration === undefined || statement.type === 'ImportDeclaration') return;
  const declared = declaration.type === 'VariableDeclaration' ? partsOf(declaration, 'declarations') : [declaration];
  for (const each of declared) {
    const name = nameOf(part(each['id']));
    if (name === undefined) continue;
    names.set(name, { kind: 'here', declaration: each });
    if (declaration !== statement) exported.set(name, { kind: 'file', file, name });
  }
}

/** The declaration that a name in a file refers to; undefined if it belongs to a package or to the language. */
function lookUp(file: string, name: string, seen: 'names' | 'exported' = 'names'): Found | undefined {
  const origin = declarationsIn(file)[seen].get(name);
  if (origin === undefined || origin.kind === 'package') return undefined;
  if (origin.kind === 'here') return { file, name, declaration: origin.declaration };
  return origin.file === file ? lookUp(file, origin.name) : lookUp(origin.file, origin.name, 'exported');
}

/** Names of types in a declaration except its type parameters. `typeof` refers to a value, which callers need not name. */
function typeNamesIn({ declaration, isTypeOnly }: Exported): Set<string> {
  const used = new Set<string>();
  const own = new Set<string>();
  const visit = (node: Syntax): void => {
    if (node.type === 'TSTypeQuery' || node['accessibility'] === 'private') return;
    if (isTypeOnly && node['kind'] === 'constructor') return;
    if (node.type === 'TSTypeParameter') own.add(nameOf(part(node['name'])) ?? String(node['name']));
    if (node.type === 'TSMappedType') own.add(nameOf(part(node['key'])) ?? '');
    const named = { TSTypeReference: 'typeName', TSInterfaceHeritage: 'expression', TSClassImplements: 'expression' }[node.type];
    if (named !== undefined) used.add(nameOf(part(node[named])) ?? '');
    if (node.type === 'ClassDeclaration') used.add(nameOf(part(node['superClass'])) ?? '');
    assert.notEqual(node.type, 'TSImportType', 'an inline import of a type has no name to check');
    for (const key of visitorKeys[node.type] ?? []) for (const child of partsOf(node, key)) visit(child);
  };
  visit(declaration);
  return new Set([...used].filter((name) => name !== '' && !own.has(name)));
}

/** For `a.b`, the name of `a`: a namespace exports its members. */
function nameOf(node: Syntax | undefined): string | undefined {
  if (node?.type === 'TSQualifiedName') return nameOf(part(node['left']));
  return typeof node?.['name'] === 'string' ? node['name'] : undefined;
}

function part(value: unknown): Syntax | undefined {
  return isSyntax(value) ? value : undefined;
}

function partsOf(node: object, key = 'body'): Syntax[] {
  return [Reflect.get(node, key) as unknown].flat().filter(isSyntax);
}

function isSyntax(value: unknown): value is Syntax {
  return typeof value === 'object' && value !== null && 'type' in value;
}

const files = Object.values(entries).flatMap((target) => (typeof target === 'string' ? [] : [path.join(root, target.types)]));
const mainEntry = path.join(root, 'dist', 'index.d.ts');
const mainFolders = ['client', 'protocol', 'local'].map((folder) => path.join(root, 'dist', folder) + path.sep);

function exportedBy(entry: string): Exported[] {
  const { exported, typesOnly } = declarationsIn(entry);
  return [...exported.keys()].flatMap((name) => {
    const found = lookUp(entry, name, 'exported');
    return found === undefined ? [] : [{ ...found, isTypeOnly: typesOnly.has(name) }];
  });
}

const everywhere = files.flatMap(exportedBy);

for (const entry of files) {
  const exported = exportedBy(entry);
  const isFrom = (declarations: readonly Found[], { file, name }: Found) =>
    declarations.some((each) => each.file === file && each.name === name);

  test(`every type that ${path.relative(root, entry)} names in a signature is exported`, () => {
    assert.ok(exported.length > 5);
    const missing = exported.flatMap((user) =>
      [...typeNamesIn(user)].flatMap((name) => {
        const found = lookUp(user.file, name);
        if (found === undefined) return [];
        const isOwn = entry === mainEntry && mainFolders.some((folder) => found.file.startsWith(folder));
        if (isFrom(isOwn ? exported : everywhere, found)) return [];
        return [`${user.name} names ${name} of ${path.relative(root, found.file)}`];
      }),
    );
    assert.deepEqual(missing, []);
  });
}
