// Bytes are base64 text on the wire and Uint8Array everywhere else.

import * as v from 'valibot';
import { decodeBase64 } from '../base/base64.js';

/** A base64 string on the wire; a Uint8Array once read. Payloads are decoded, not pattern-checked: a check costs more than the decoding. */
export const bytes = v.pipe(
  v.string(),
  v.rawTransform(({ dataset, addIssue, NEVER }): Uint8Array => {
    const decoded = decodeBase64(dataset.value);
    if (decoded !== undefined) return decoded;
    addIssue({ message: 'expected padded base64' });
    return NEVER;
  }),
  v.metadata({ contentEncoding: 'base64' }),
);
