// The protocol as one JSON Schema document, derived from the method table. It describes the wire: bytes are base64 text here.

import { toJsonSchema } from '@valibot/to-json-schema';
import { sandboxPolicy } from '../../dist/protocol/command.js';
import { requests } from '../../dist/protocol/methods.js';
import { notifications } from '../../dist/protocol/notifications.js';
import { chunk, ending, envPolicy, io, preparedSpec, processStatus, size, snapshot } from '../../dist/protocol/process.js';
import { environmentInfo } from '../../dist/protocol/session.js';

/** @import { Schema } from './schema-rows.mjs' */
/** @import { ConversionConfig, JsonSchema } from '@valibot/to-json-schema' */

/** Named types: referenced where they are used, instead of being repeated each time. */
const namedTypes = {
  Chunk: chunk,
  Ending: ending,
  EnvPolicy: envPolicy,
  EnvironmentInfo: environmentInfo,
  Io: io,
  PreparedSpec: preparedSpec,
  ProcessStatus: processStatus,
  RetainedStream: snapshot.entries.streams.entries.stdout.wrapped,
  SandboxPolicy: sandboxPolicy,
  Size: size,
};

/** `$defs` holds each named type under its name, then `<method> params`, `<method> result` and `<notification> params`. */
export function protocolSchema() {
  const { $defs: named = {} } = toJsonSchema(namedTypes.Size, conversion);
  const $defs = /** @type {Record<string, Schema>} */ ({ ...named });
  for (const [method, { params, result }] of Object.entries(requests)) {
    $defs[`${method} params`] = wireSchema(params);
    $defs[`${method} result`] = wireSchema(result);
  }
  for (const [notification, { params }] of Object.entries(notifications)) {
    $defs[`${notification} params`] = wireSchema(params);
  }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Sluice protocol',
    description: 'Parameters and results of every request and notification, in the form they have on the wire',
    $defs,
  };
}

/** @type {ConversionConfig} */
const conversion = {
  target: 'draft-2020-12',
  definitions: namedTypes,
  // These have no effect on the wire. Any other transformation fails the build, so that no wrong schema is published.
  ignoreActions: ['brand', 'raw_transform', 'readonly'],
  overrideAction: ({ valibotAction, jsonSchema }) => {
    if (valibotAction.type === 'safe_integer') return { ...jsonSchema, type: 'integer', maximum: Number.MAX_SAFE_INTEGER };
    // JSON Schema patterns are Unicode patterns, so the flag is implied.
    const { requirement } = /** @type {{ requirement?: unknown }} */ (valibotAction);
    return valibotAction.type === 'regex' && requirement instanceof RegExp && requirement.flags === 'u' ? jsonSchema : undefined;
  },
  overrideSchema: ({ jsonSchema }) => withoutEmptyClaims(jsonSchema),
};

/** @param {Parameters<typeof toJsonSchema>[0]} schema */
function wireSchema(schema) {
  const { $schema, $defs, ...wire } = toJsonSchema(schema, conversion);
  return /** @type {Schema} */ (wire);
}

/**
 * Drops `propertyNames` and an empty `required`: keys are always strings, and both only make the document longer.
 * @param {JsonSchema} jsonSchema
 */
function withoutEmptyClaims(jsonSchema) {
  const { propertyNames, required, ...rest } = jsonSchema;
  return required === undefined || required.length === 0 ? rest : { ...rest, required };
}
