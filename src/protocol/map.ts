// Maps whose names are the caller's choice.

import * as v from 'valibot';

/** valibot leaves these out of a record without a word, lest one become the prototype of something. */
const unusableNames = ['__proto__', 'prototype', 'constructor'];

/** Refuses the names that could not be kept: what cannot be done is refused, never ignored. */
export function mapOf<Value extends v.GenericSchema>(value: Value): v.RecordSchema<v.StringSchema<undefined>, Value, undefined> {
  const record = v.record(v.string(), value);
  const refusal = v.record(v.string(), value, `nothing can be named ${unusableNames.join(', ')} here`);
  return {
    ...record,
    '~run': (dataset, config) =>
      hasUnusableName(dataset.value) ? refusal['~run']({ value: undefined }, config) : record['~run'](dataset, config),
  };
}

function hasUnusableName(map: unknown): boolean {
  return typeof map === 'object' && map !== null && unusableNames.some((name) => Object.hasOwn(map, name));
}
