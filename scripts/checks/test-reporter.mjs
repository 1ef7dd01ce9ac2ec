// A reporter for Node's test runner that writes one JSON object when a file's tests are done: how many ran, and which were skipped and why.

/** @import { TestEvent } from 'node:test/reporters' */

/** @typedef {{ ran: number, skipped: { name: string, reason: string }[] }} TestCounts */

/** @param {AsyncIterable<TestEvent>} events */
// oxlint-disable-next-line import/no-default-export -- Node loads a reporter by its default export
export default async function* countTests(events) {
  /** @type {TestCounts} */
  const counts = { ran: 0, skipped: [] };
  for await (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    if (data.skip !== undefined) counts.skipped.push({ name: data.name, reason: reasonOf(data.skip) });
    else if (data.details.type !== 'suite') counts.ran += 1;
  }
  yield JSON.stringify(counts);
}

/** @param {string | boolean} skip as given to the test; Node passes `true` on unchanged or as an empty string */
function reasonOf(skip) {
  return typeof skip === 'string' && skip !== '' ? skip : 'not on this machine';
}
