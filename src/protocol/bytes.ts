// Bytes are base64 text on the wire and Uint8Array everywhere else.

import * as v from 'valibot';
import { decodeBase64 } from '../base/base64.js';

const base64 = v.pipe(
  v.string(),
  v.rawTransform(({ dataset, addIssue, NEVER }): Uint8Array => {
    const decoded = decodeBase64(dataset.value);
    if (decoded !== undefined) return decoded;
    addIssue();
    return NEVER;
  }),
  v.metadata({ contentEncoding: 'base64' }),
);

/**
 * A base64 string on the wire, a Uint8Array once read. A Uint8Array is accepted as it is, for in-process callers. Payloads are
 * decoded without a pattern check, because that costs more than the decoding.
 */
export const bytes: typeof base64 = {
  ...base64,
  '~run': (dataset, config) =>
    dataset.value instanceof Uint8Array ? { typed: true, value: dataset.value } : base64['~run'](dataset, config),
};
