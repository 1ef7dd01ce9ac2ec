// A caller can name every type in the signatures it uses: each is exported by a public entry point. The front door exports the
// client's and the protocol's itself, so that a program needs no other import to name what it is handed.

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

/** A part of a parsed file; what is in it depends on its type. */
interface Syntax {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Where a name of a file comes from: this file, or another one, under another name perhaps. */
type Origin =
  | { readonly kind: 'here'; readonly declaration: Syntax }
  | { readonly kind: 'file'; readonly file: string; readonly name: string }
  | { readonly kind: 'package' };

/** A declaration file: where each name in it comes from, and what it exports as what. */
interface Declarations {
  readonly names: ReadonlyMap<string, Origin>;
  readonly exported: ReadonlyMap<string, Origin>;
  /** Exported as types only: a class among them cannot be made by its users. */
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

/** The declaration that a name of a file leads to; undefined when it comes from elsewhere: a package, or the language itself. */
function lookUp(file: string, name: string, seen: 'names' | 'exported' = 'names'): Found | undefined {
  const origin = declarationsIn(file)[seen].get(name);
  if (origin === undefined || origin.kind === 'package') return undefined;
  if (origin.kind === 'here') return { file, name, declaration: origin.declaration };
  return origin.file === file ? lookUp(file, origin.name) : lookUp(origin.file, origin.name, 'exported');
}

/** Names of types in a declaration, those of its own parameters aside. `typeof` names a value, which callers do not write down. */
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

/** Of `a.b`, the name of `a`: what is in a namespace is as public as the namespace. */
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
const frontDoor = path.join(root, 'dist', 'index.d.ts');
const rooms = ['client', 'protocol', 'local'].map((room) => path.join(root, 'dist', room) + path.sep);

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
    const forgotten = exported.flatMap((user) =>
      [...typeNamesIn(user)].flatMap((name) => {
        const found = lookUp(user.file, name);
        if (found === undefined) return [];
        const isOwn = entry === frontDoor && rooms.some((room) => found.file.startsWith(room));
        if (isFrom(isOwn ? exported : everywhere, found)) return [];
        return [`${user.name} names ${name} of ${path.relative(root, found.file)}`];
      }),
    );
    assert.deepEqual(forgotten, []);
  });
}
