// The small wrongs that can be done to a compiled module: one place changed each. Compiled code has no types, so none is spent on those;
// nor on words for people, in logs, errors and help. Knows no tests.

import { parseSync, visitorKeys } from 'oxc-parser';

/**
 * @typedef {{ start: number, end: number, text: string, kind: string }} Mutant what is put in the place of `start` to `end`
 */

/**
 * Every mutant of a module, in the order of its text.
 *
 * @param {string} name of the file
 * @param {string} code
 * @returns {Mutant[]}
 */
export function mutantsOf(name, code) {
  const { program, errors } = parseSync(name, code);
  if (errors.length > 0) throw new Error(`${name} cannot be read: ${errors[0].message}`);
  const found = [];
  const visit = (node, ancestors) => {
    if (isForPeople(node, ancestors)) return;
    for (const { at = node, text, kind } of changesOf(node, ancestors, (part) => code.slice(part.start, part.end))) {
      found.push({ start: at.start, end: at.end, text, kind });
    }
    for (const key of visitorKeys[node.type] ?? []) {
      for (const child of [node[key]].flat()) if (child) visit(child, [node, ...ancestors]);
    }
  };
  visit(program, []);
  const distinct = new Map(found.map((mutant) => [`${mutant.start} ${mutant.end} ${mutant.text}`, mutant]));
  return [...distinct.values()]
    .filter((mutant) => parseSync(name, applied(mutant, code)).errors.length === 0)
    .toSorted((a, b) => a.start - b.start || a.end - b.end);
}

/** The module with the mutant in it. */
export function applied({ start, end, text }, code) {
  return code.slice(0, start) + text + code.slice(end);
}

const swapped = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '**': ['*'],
  '&': ['|'],
  '|': ['&'],
  '^': ['&'],
  '<<': ['>>'],
  '>>': ['<<'],
  '>>>': ['<<'],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '+=': ['-='],
  '-=': ['+='],
  '*=': ['/='],
  '/=': ['*='],
  '&=': ['|='],
  '|=': ['&='],
  '&&=': ['||='],
  '||=': ['&&='],
  '??=': ['='],
  '++': ['--'],
  '--': ['++'],
};

/** Methods and the ones that are easily taken for them; those with nothing are left out of the chain. */
const methods = {
  every: 'some',
  some: 'every',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  min: 'max',
  max: 'min',
  toUpperCase: 'toLowerCase',
  toLowerCase: 'toUpperCase',
  floor: 'ceil',
  ceil: 'floor',
  push: 'unshift',
  unshift: 'push',
  shift: 'pop',
  pop: 'shift',
  filter: undefined,
  slice: undefined,
  subarray: undefined,
  trim: undefined,
  toSorted: undefined,
  toReversed: undefined,
};

/** @returns {Generator<{ at?: { start: number, end: number }, text: string, kind: string }>} */
function* changesOf(node, [parent, grandparent, ...ancestors], textOf) {
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression':
    case 'AssignmentExpression':
      if ((node.operator === '+' || node.operator === '+=') && [node.left, node.right].some(isText)) return;
      for (const operator of swapped[node.operator] ?? []) {
        yield { text: `((${textOf(node.left)}) ${operator} (${textOf(node.right)}))`, kind: 'operator' };
      }
      return;
    case 'UpdateExpression':
      yield { text: textOf(node).replace(node.operator, swapped[node.operator][0]), kind: 'operator' };
      return;
    case 'UnaryExpression':
      if (node.operator === '!') yield { text: textOf(node.argument), kind: 'negation' };
      if (node.operator === '-') yield { text: textOf(node.argument), kind: 'operator' };
      return;
    case 'IfStatement':
    case 'ConditionalExpression':
      yield { at: node.test, text: 'true', kind: 'condition' };
      yield { at: node.test, text: 'false', kind: 'condition' };
      return;
    case 'WhileStatement':
    case 'DoWhileStatement':
    case 'ForStatement':
      if (node.test) yield { at: node.test, text: 'false', kind: 'condition' };
      return;
    case 'SwitchCase':
      if (node.test && node.consequent.length > 0) {
        yield { at: spanOf(node.consequent), text: '', kind: 'case without statements' };
      }
      return;
    case 'ExpressionStatement':
      if (isCall(node.expression) && parent.type !== 'Program') yield { text: ';', kind: 'no call' };
      if (isAssignment(node.expression) && !isConstructor(ancestors[0])) yield { text: ';', kind: 'no assignment' };
      return;
    case 'BlockStatement':
      if (node.body.length > 0 && !isConstructor(grandparent)) yield { text: '{}', kind: 'empty block' };
      return;
    case 'ArrowFunctionExpression':
      if (node.body.type !== 'BlockStatement') yield { at: node.body, text: 'undefined', kind: 'no result' };
      return;
    case 'MemberExpression':
    case 'CallExpression':
      if (node.optional) yield { text: withoutQuestion(node, textOf), kind: 'optional chain' };
      if (node.type === 'CallExpression') yield* otherMethod(node, textOf);
      return;
    case 'ObjectExpression':
      if (node.properties.length > 0) yield { text: '({})', kind: 'empty object' };
      return;
    case 'ArrayExpression':
      if (node.elements.length > 0) yield { text: '[]', kind: 'empty array' };
      return;
    case 'TemplateLiteral':
      if (parent.type !== 'TaggedTemplateExpression') yield { text: '""', kind: 'text' };
      return;
    case 'Literal':
      yield* otherLiteral(node, parent);
  }
}

function* otherLiteral(node, parent) {
  if (typeof node.value === 'boolean') yield { text: String(!node.value), kind: 'boolean' };
  if (typeof node.value === 'number') yield { text: node.value === 0 ? '1' : '0', kind: 'number' };
  if (typeof node.value === 'string' && !isName(node, parent)) {
    yield { text: node.value === '' ? '"mutant"' : '""', kind: 'text' };
  }
}

function* otherMethod({ callee }, textOf) {
  if (callee.type !== 'MemberExpression' || callee.computed || !(callee.property.name in methods)) return;
  const other = methods[callee.property.name];
  if (other === undefined) yield { text: textOf(callee.object), kind: 'method' };
  else yield { at: callee.property, text: other, kind: 'method' };
}

function withoutQuestion(node, textOf) {
  const object = node.type === 'CallExpression' ? node.callee : node.object;
  const rest = textOf({ start: object.end, end: node.end });
  const plain = /^\s*\?\.(?=[[(])/.test(rest) ? rest.replace('?.', '') : rest.replace('?.', '.');
  return textOf(object) + plain;
}

function spanOf(nodes) {
  return { start: nodes[0].start, end: nodes.at(-1).end };
}

function isText(node) {
  return node.type === 'TemplateLiteral' || typeof node.value === 'string';
}

/** @returns {boolean} */
function isCall(node) {
  return (
    node.type === 'CallExpression' ||
    (node.type === 'ChainExpression' && isCall(node.expression)) ||
    (node.type === 'AwaitExpression' && isCall(node.argument)) ||
    (node.type === 'UnaryExpression' && node.operator === 'void' && isCall(node.argument))
  );
}

/** A constructor that does less makes nothing that any test could use: not worth the time. */
function isConstructor(node) {
  return node?.type === 'MethodDefinition' && node.kind === 'constructor';
}

function isAssignment({ type }) {
  return type === 'AssignmentExpression' || type === 'UpdateExpression';
}

/** Keys, modules and directives are names, not values. */
function isName(node, parent) {
  return (
    /^(?:Import|Export)/.test(parent.type) ||
    parent.directive !== undefined ||
    (parent.type === 'Property' && parent.key === node) ||
    (parent.type === 'MemberExpression' && parent.property === node)
  );
}

/** Where words are only ever read by people. */
const wordsOf = /^(?:problem|message|cause|help|remedy|hint)$/;

function isForPeople(node, [parent, ...ancestors]) {
  if (parent === undefined) return false;
  if (node.type === 'ImportDeclaration' || node.type === 'ExportNamedDeclaration')
    return node.source !== null && node.source !== undefined;
  if (!isText(node)) return false;
  if (/\w+ \w+ \w/.test(node.value ?? node.quasis.map(({ value }) => value.cooked).join('…'))) return true;
  return [parent, ...ancestors].some(
    (each) =>
      (each.type === 'Property' && wordsOf.test(each.key.name)) ||
      (each.type === 'NewExpression' && String(each.callee.name).endsWith('Error')) ||
      (each.type === 'CallExpression' && (isLogging(each.callee) || (isSpawnFailure(each.callee) && each.arguments[0] !== node))),
  );
}

function isLogging(callee) {
  if (callee.type !== 'MemberExpression') return false;
  const owner = callee.object.property?.name ?? callee.object.name;
  return String(owner).endsWith('ogger') && /^(?:debug|info|warn|error)$/.test(callee.property.name);
}

/** The first thing it is told is the kind of failure; then come words. */
function isSpawnFailure({ name }) {
  return name === 'spawnFailed';
}
