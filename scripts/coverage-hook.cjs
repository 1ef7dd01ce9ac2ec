// Loaded into a program before anything else while coverage is measured: keeps count of which of our own code is run, and leaves that in a folder
// at the program's end. No variable is needed for it, so a program and its children have the same environment as ever; what others start
// with Node leaves nothing.

'use strict';

const { randomUUID } = require('node:crypto');
const { writeFileSync } = require('node:fs');
const { Session } = require('node:inspector');
const Module = require('node:module');
const { fileURLToPath } = require('node:url');
const vm = require('node:vm');

/** @param {{ ours: string, folder: string }} options where the scripts lie that count, and where the result goes. */
exports.keepCoverage = ({ ours, folder }) => {
  if (process.execArgv.includes('--test')) return; // only starts those that run tests, and has no inspector on Node 20
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: true });
  process.once('exit', () => {
    session.post('Profiler.takePreciseCoverage', (error, taken) => {
      if (error === null) write(taken.result);
    });
  });

  /** Of each script its path, and of each of its functions the ranges: where they begin, where they end, and whether they were run. */
  function write(result) {
    const scripts = result
      .map(({ url, functions }) => [url.startsWith('file:') ? fileURLToPath(url) : url, functions])
      .filter(([file]) => file.startsWith(ours))
      .map(([file, functions]) => [file, functions.map(({ ranges }) => ranges.map(numbersOf))]);
    if (scripts.length === 0) return;
    try {
      writeFileSync(`${folder}/${randomUUID()}.json`, JSON.stringify(scripts));
    } catch {
      // No descriptor left, no room, or another user's folder, as a test wants it: then what was run here is not counted.
    }
  }
};

function numbersOf({ startOffset, endOffset, count }) {
  return [startOffset, endOffset, count];
}

/** From here on everything is compiled: what comes out of a cache is counted by whole functions only. */
exports.refuseCaches = () => {
  Module.enableCompileCache = undefined;
  vm.Script = class extends vm.Script {
    constructor(source, { cachedData: _, ...options } = {}) {
      super(source, options);
    }
  };
};
