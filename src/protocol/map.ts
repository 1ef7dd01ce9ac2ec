// Maps with arbitrary names, and objects with only optional members: the cases where valibot accepts an array as an object.

import * as v from 'valibot';

/** valibot silently drops these from a record, to prevent prototype pollution. */
const unusableNames = ['__proto__', 'prototype', 'constructor'];

/** Refuses arrays, and the names that valibot would drop: what cannot be done is refused, never ignored. */
export function mapOf<Value extends v.GenericSchema>(value: Value): v.RecordSchema<v.StringSchema<undefined>, Value, undefined> {
  const record = v.record(v.string(), value);
  const nameRefused = v.record(v.string(), value, `expected no member named ${unusableNames.join(', ')}`);
  return {
    ...record,
    '~run': (dataset, config) => {
      if (Array.isArray(dataset.value)) return record['~run']({ value: undefined }, config);
      return hasUnusableName(dataset.value) ? nameRefused['~run']({ value: undefined }, config) : record['~run'](dataset, config);
    },
  };
}

/** An object whose members are all optional. With a required member, valibot refuses arrays, because they lack it. */
export function optionalMembers<Entries extends v.ObjectEntries>(entries: Entries): v.ObjectSchema<Entries, undefined> {
  const object = v.object(entries);
  return {
    ...object,
    '~run': (dataset, config) =>
      Array.isArray(dataset.value) ? object['~run']({ value: undefined }, config) : object['~run'](dataset, config),
  };
}

function hasUnusableName(map: unknown): boolean {
  return typeof map === 'object' && map !== null && unusableNames.some((name) => Object.hasOwn(map, name));
}
