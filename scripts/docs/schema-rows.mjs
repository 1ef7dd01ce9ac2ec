// Turns a JSON Schema into readable table rows: one per member, in words. Knows nothing about methods.

/**
 * @typedef {object} Schema the parts of a JSON Schema that are used here
 * @property {string} [$ref]
 * @property {unknown} [const]
 * @property {unknown[]} [enum]
 * @property {string} [type]
 * @property {string} [description]
 * @property {string} [contentEncoding]
 * @property {Schema[]} [oneOf]
 * @property {Schema[]} [anyOf]
 * @property {Record<string, Schema>} [properties]
 * @property {string[]} [required]
 * @property {Schema} [items]
 * @property {Schema} [additionalProperties]
 * @property {number} [minItems]
 * @property {number} [maxItems]
 * @property {number} [minLength]
 * @property {number} [maxLength]
 * @property {number} [minimum]
 * @property {number} [maximum]
 */
/** @typedef {[name: string, type: string, required: string, meaning: string]} Row */

/**
 * A row per member, with dotted names for nested ones: its name, its type, whether it is required, its meaning.
 * @param {Schema} schema
 */
export function memberRows(schema) {
  return rowsOf(withoutNull(schema).schema, '');
}

/**
 * @param {Schema} schema
 * @param {string} prefix
 * @returns {Row[]}
 */
function rowsOf(schema, prefix) {
  if (schema.oneOf !== undefined) return variantRows(schema.oneOf, prefix);
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const required = schema.required?.includes(name) ?? false;
    return rowsOfMember({ path: `${prefix}${name}`, property, required: required ? 'yes' : 'no' });
  });
}

/**
 * First the discriminator, then the members that only some variants have, then the members that all share.
 * @param {Schema[]} variants
 * @param {string} prefix
 * @returns {Row[]}
 */
function variantRows(variants, prefix) {
  const members = variants.map(({ properties = {} }) => properties);
  const discriminator = Object.keys(members[0]).find((name) => 'const' in members[0][name]) ?? '';
  /** @param {Schema} variant */
  const kindOf = (variant) => variant.properties?.[discriminator].const;
  const names = [...new Set(members.flatMap((properties) => Object.keys(properties)))].filter((name) => name !== discriminator);
  /** @param {string} name */
  const isShared = (name) => members.every((properties) => name in properties);

  /** @param {string} name */
  const member = (name) => {
    const holders = variants.filter(({ properties = {} }) => name in properties);
    const required = holders.every((variant) => variant.required?.includes(name));
    const condition = `if ${discriminator} is ${either(holders.map((holder) => literal(kindOf(holder))))}`;
    const demand = isShared(name) ? (required ? 'yes' : 'no') : required ? `yes, ${condition}` : `no, only ${condition}`;
    return rowsOfMember({ path: `${prefix}${name}`, property: holders[0].properties?.[name] ?? {}, required: demand });
  };
  return [
    ...rowsOfMember({ path: `${prefix}${discriminator}`, property: { enum: variants.map(kindOf) }, required: 'yes' }),
    ...names.filter((name) => !isShared(name)).flatMap(member),
    ...names.filter(isShared).flatMap(member),
  ];
}

/**
 * @param {{ path: string, property: Schema, required: string }} member
 * @returns {Row[]}
 */
function rowsOfMember({ path, property, required }) {
  const { schema } = withoutNull(property);
  const meaning = property.description ?? schema.description ?? '';
  const type = required.startsWith('yes') ? typeText(property) : typeText(schema);
  const inner = schema.type === 'array' ? rowsOf(schema.items ?? {}, `${path}[].`) : rowsOf(schema, `${path}.`);
  return [[`\`${path}\``, type, required, meaning], ...inner];
}

/**
 * A type in words; named types are links to the heading that explains them.
 * @param {Schema} property
 * @returns {string}
 */
export function typeText(property) {
  const { schema, nullable } = withoutNull(property);
  return nullable ? `${plainTypeText(schema)} or null` : plainTypeText(schema);
}

/**
 * @param {Schema} schema
 * @returns {string}
 */
function plainTypeText(schema) {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? '';
    return `[${name}](#type-${name.toLowerCase()})`;
  }
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return either(schema.enum.map(literal));
  if (schema.contentEncoding !== undefined) return schema.contentEncoding;
  if (schema.oneOf !== undefined) return 'object';
  switch (schema.type) {
    case 'array':
      return `list of ${typeText(schema.items ?? {})}${bounds(schema.minItems, schema.maxItems, 'long')}`;
    case 'object':
      return schema.additionalProperties === undefined ? 'object' : `map of ${typeText(schema.additionalProperties)}`;
    case 'string':
      return `string${bounds(schema.minLength, schema.maxLength, 'characters')}`;
    case 'integer':
    case 'number':
      return `${schema.type}${bounds(schema.minimum, schema.maximum, '')}`;
    case 'boolean':
      return 'boolean';
    case undefined:
      return 'any value';
    default:
      throw new Error(`no text for a schema of type "${schema.type}"; add it to scripts/docs/schema-rows.mjs`);
  }
}

/**
 * The largest safe integer is not a bound worth documenting, so it is left out.
 * @param {number | undefined} least
 * @param {number | undefined} most
 * @param {string} unit
 */
function bounds(least, most, unit) {
  const upper = most === Number.MAX_SAFE_INTEGER ? undefined : most;
  if (least !== undefined && upper !== undefined) return `, ${least} to ${upper} ${unit}`.trimEnd();
  if (least !== undefined) return `, at least ${least} ${unit}`.trimEnd();
  return upper === undefined ? '' : `, at most ${upper} ${unit}`.trimEnd();
}

/**
 * @param {Schema} schema
 * @returns {{ schema: Schema, nullable: boolean }}
 */
function withoutNull(schema) {
  const others = schema.anyOf?.filter((option) => option.type !== 'null');
  return others?.length === 1 ? { schema: others[0], nullable: true } : { schema, nullable: false };
}

/** @param {unknown} value */
function literal(value) {
  return `\`${JSON.stringify(value)}\``;
}

/** @param {string[]} texts */
function either(texts) {
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}`;
}
