// Loaded before the command by pack.mjs: tells which files it has required, or keeps what was compiled of its pack, when it is asked to by
// a signal, or else at its end.

import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import v8 from 'node:v8';
import vm from 'node:vm';

const { PACK_TASK: task, PACK_RESULT: result, PACK_FOLDER: folder } = process.env;
const scripts = [];

vm.Script = class extends vm.Script {
  constructor(source, options) {
    super(source, options);
    scripts.push(this);
  }
};

// What was compiled is only taken by an engine with the same flags, and at its start a command has set none.
v8.setFlagsFromString = () => {};

let isDone = false;

function keep() {
  if (isDone) return;
  isDone = true;
  const required = Object.keys(createRequire(import.meta.url).cache).filter(
    (file) => path.dirname(file) === folder && !file.endsWith('sluice.cjs'),
  );
  if (task === 'list') writeFileSync(result, JSON.stringify(required.map((file) => path.basename(file))));
  else writeFileSync(result, scripts[0].createCachedData());
}

process.on('SIGUSR2', keep);
process.on('exit', keep);
