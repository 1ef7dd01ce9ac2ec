// Packs all files that a command loads to say its first words into one script, and keeps what V8 has compiled of it by then. Reading that
// takes a third of the time of compiling it. It fits the engine that builds and no other, and is left alone by others.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { transformSync } from 'esbuild';

/** Those that people and programs wait for. */
export const packedCommands = ['exec', 'serve'];

/** The end of a pack's name, as code: what has been compiled depends on engine and machine. */
export const packSuffix = '`.${process.versions.v8}.${process.platform}-${process.arch}.pack`';

const suffix = `.${process.versions.v8}.${process.platform}-${process.arch}.pack`;
const hook = new URL('pack-hook.mjs', import.meta.url).href;

const hello = [
  { id: 1, method: 'initialize', params: { clientName: 'pack', resumeSessionId: null } },
  { method: 'initialized', params: {} },
];

/** Runs each command twice: to see what it loads, and, packed, to keep what was compiled. Where that fails, it starts a little later. */
export async function writePacks(folder) {
  for (const command of packedCommands) {
    const pack = path.join(folder, `${command}${suffix}`);
    const cache = `${pack}.cache`;
    try {
      await run(folder, command, { task: 'list', result: pack });
      writeFileSync(pack, packOf(folder, JSON.parse(readFileSync(pack, 'utf8'))), 'latin1');
      writeFileSync(cache, ''); // is rejected, and so the pack is compiled
      await run(folder, command, { task: 'compile', result: cache });
    } catch (error) {
      console.warn(`sluice ${command} is not packed: ${error.message}`);
      for (const file of [pack, cache]) rmSync(file, { force: true });
    }
  }
}

function packOf(folder, files) {
  const modules = files.map((file) => {
    const { code } = packed(readFileSync(path.join(folder, file), 'utf8'));
    return `${JSON.stringify(`./${file}`)}: function (exports, require, module, __filename, __dirname) {${code}\n}`;
  });
  return `({${modules.join(',\n')}})`;
}

/** Without spaces and comments, and only ASCII: a text that stays in memory. Names are kept, for what errors say. */
function packed(text) {
  return transformSync(text, { minifyWhitespace: true, legalComments: 'none' });
}

/** One whole run; the hook leaves its result in the file. */
async function run(folder, command, { task, result }) {
  const args = { exec: ['--', 'true'], serve: ['--listen', 'stdio', '--listen', 'ws://127.0.0.1:0'] }[command];
  const child = spawn(process.execPath, ['--import', hook, path.join(folder, 'sluice.cjs'), command, ...args], {
    env: { PATH: process.env.PATH, PACK_TASK: task, PACK_RESULT: result, PACK_FOLDER: folder },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  if (command === 'serve') await greet(child, folder);
  child.stdin.end();
  child.stdout.resume();
  child.stderr.resume();
  const [code] = await ended;
  if (code !== 0) throw new Error(`sluice ${command} ended with ${code}`);
}

/** Both ways to a server are to be ready. */
async function greet(child, folder) {
  const { openChannel } = await import(path.join(folder, '..', 'transport', 'connect.js'));
  const { parseConnectUrl } = await import(path.join(folder, '..', 'transport', 'endpoint.js'));
  const url = await matchIn(child.stderr, /ws:[^ "]+/);
  const channel = await openChannel(parseConnectUrl(url), { maxMessageBytes: 2 ** 20, timeoutMs: 10_000 });
  const answered = new Promise((resolve) => channel.listen({ message: resolve, binary() {}, unreadable() {} }));
  for (const message of hello) {
    channel.send(JSON.stringify(message));
    child.stdin.write(`${JSON.stringify(message)}\n`);
  }
  await Promise.all([answered, matchIn(child.stdout, /"result"/)]);
  child.kill('SIGUSR2');
  channel.close();
  await channel.closed;
}

async function matchIn(stream, pattern) {
  let text = '';
  for await (const piece of stream.iterator({ destroyOnReturn: false })) {
    text += piece;
    const [found] = pattern.exec(text) ?? [];
    if (found !== undefined) return found;
  }
  throw new Error(`${pattern} did not come: ${text}`);
}
