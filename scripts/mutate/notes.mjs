// What earlier runs found out, kept beside the installed packages: it is lost with them and costs nothing but time. What was written for other
// code is not found again, because everything is looked up by the code it holds for.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, appendFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../tool.mjs';

const folder = path.join(root, 'node_modules', '.cache', 'mutate');

/** Facts by key, each a line of a file. */
export class Notes {
  #file;
  #facts = new Map();

  constructor(name) {
    mkdirSync(folder, { recursive: true });
    this.#file = path.join(folder, `${name}.jsonl`);
    if (!existsSync(this.#file)) return;
    for (const line of readFileSync(this.#file, 'utf8').split('\n')) {
      if (line === '') continue;
      const { key, fact } = JSON.parse(line);
      this.#facts.set(key, fact);
    }
  }

  get(key) {
    return this.#facts.get(key);
  }

  set(key, fact) {
    this.#facts.set(key, fact);
    appendFileSync(this.#file, `${JSON.stringify({ key, fact })}\n`);
  }

  values() {
    return this.#facts.values();
  }
}

export function digest(...texts) {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(text).update('\0');
  return hash.digest('base64url').slice(0, 16);
}

/** Of all compiled code in a folder of the project. */
export function digestOfFolder(name) {
  const files = readdirSync(path.join(root, name), { recursive: true }).map(String);
  const compiled = files.filter((file) => file.endsWith('.js')).toSorted();
  return digest(...compiled.flatMap((file) => [file, readFileSync(path.join(root, name, file))]));
}
