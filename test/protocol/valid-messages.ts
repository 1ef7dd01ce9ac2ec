// The type of a corpus with messages of every kind in the table, as they appear on the wire.

import type * as v from 'valibot';
import type { Method, requests } from '#src/protocol/methods.js';
import type { notifications } from '#src/protocol/notifications.js';

type Requests = typeof requests;
type Notifications = typeof notifications;

export type Valid = { readonly [M in Method as `${M} params`]: readonly v.InferInput<Requests[M]['params']>[] } & {
  readonly [M in Method as `${M} result`]: readonly v.InferInput<Requests[M]['result']>[];
} & { readonly [N in keyof Notifications as `${N} params`]: readonly v.InferInput<Notifications[N]['params']>[] };
