// Works with the files of a server's machine: writes a file, watches a folder, and copies a folder there and back.
//
//   node examples/transfer-files.mjs

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectInProcess } from 'sluice';

const here = await mkdtemp(join(tmpdir(), 'example-')); // a folder of this machine
const client = connectInProcess(); // connect(url) does the same with the files of another machine
const { files } = client;
const there = await files.makeTemporary({ kind: 'directory' }); // a folder of the server's machine

try {
  // Other programs see the old file or the new one, never a part.
  await files.write(`${there.path}/settings.json`, '{"port": 1}');
  const { how, status } = await files.write(`${there.path}/settings.json`, '{"port": 2}');
  assert.equal(how, 'renamed');

  // This write is refused if the file has changed since its status was taken.
  await files.write(`${there.path}/settings.json`, '{"port": 3}', { expected: status });
  await assert.rejects(files.write(`${there.path}/settings.json`, '{"port": 4}', { expected: status }), /has changed/);

  // Nothing that happens after `ready` is missed.
  const watch = files.watch(there.path, { recursive: true });
  await watch.ready;
  await writeFile(join(here, 'page.html'), '<h1>hello</h1>');
  const sent = await files.upload(here, `${there.path}/site`);
  for await (const event of watch) if (event.kind !== 'overflow' && event.path.endsWith('page.html')) break;

  // What is equal on both sides is not sent again.
  const again = await files.upload(here, `${there.path}/site`, { resume: true });
  assert.deepEqual([sent.files, again.files, again.unchanged], [1, 0, 1]);

  await files.write(`${there.path}/site/page.html`, '<h1>changed</h1>');
  await files.download(`${there.path}/site`, here);
  const page = await readFile(join(here, 'page.html'), 'utf8');
  assert.equal(page, '<h1>changed</h1>');
  console.log(page);
} finally {
  await there[Symbol.asyncDispose]();
  await client.close();
  await rm(here, { recursive: true });
}
