// Reads the configuration of `sluice serve` from fake arguments, variables and a fake config file.

import assert from 'node:assert/strict';
import { readWords } from '#src/cli/read-words.js';
import { type ServeConfig, readServeConfig } from '#src/cli/serve/config.js';
import { serveManual } from '#src/cli/serve/manual.js';

export interface Given {
  readonly env?: Readonly<Record<string, string>>;
  /** Content of /etc/sluice/config.json. */
  readonly file?: unknown;
}

export const configFile = '/etc/sluice/config.json';

/** The file, when one is given, is named by a flag. */
export function serve(args: readonly string[], { env = {}, file }: Given = {}): ServeConfig {
  const withFile = file === undefined ? args : [...args, '--config', configFile];
  return readServeConfig({
    words: readWords(serveManual, withFile),
    env,
    readText: (path) => {
      assert.equal(path, configFile);
      return typeof file === 'string' ? file : JSON.stringify(file);
    },
  });
}

/** Expects an error of one line that matches. */
export function refuses(problem: RegExp, args: readonly string[], given?: Given): void {
  assert.throws(
    () => serve(args, given),
    (error: Error) => {
      assert.match(error.message, problem);
      assert.ok(!error.message.includes('\n'), error.message);
      return true;
    },
  );
}
