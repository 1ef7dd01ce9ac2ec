// `sluice send`: types into a process.

import { UsageError, type Word, defineCommand } from './command.js';
import { parseKey } from './keys.js';
import { openInput, untilEnd } from './own-input.js';
import { attachTo, findProcess, requireServer } from './server-choice.js';
import { serverOptions } from './server-options.js';

const options = {
  key: {
    kind: 'list',
    short: 'k',
    placeholder: 'KEY',
    meaning: 'Press a key: enter, tab, escape, up, f1, ctrl-c, alt-x... Text and keys are sent in the order given. Repeatable.',
  },
  eof: { kind: 'switch', meaning: 'Close its stdin afterwards: closes a pipe, or sends Ctrl-D to a terminal.' },
  stdin: { kind: 'switch', meaning: 'Send what arrives on stdin, after texts and keys.' },
  ...serverOptions,
} as const;

export const send = defineCommand(
  {
    name: 'send',
    usage: '[OPTIONS] NAME [TEXT...]',
    about:
      'Types text and keys into a process. Nothing is added: a line needs --key enter, which is a line feed without a terminal.',
    examples: [
      { line: 'sluice send shell "ls -l" --key enter', meaning: 'a line' },
      { line: 'sluice send shell --key ctrl-c', meaning: 'interrupt what runs there' },
      { line: 'sluice send worker --stdin --eof < jobs.txt', meaning: 'a file, then the end of input' },
    ],
    options,
    operands: 'processes',
  },
  async ({ flags, operands: [name], words }) => {
    if (name === undefined) throw new UsageError('send needs a process, as in: sluice send NAME "text" --key enter');
    const typed = typedWords(words);
    if (typed.length === 0 && !flags.eof && !flags.stdin) throw new UsageError('send needs a text, --key, --stdin or --eof');
    await using client = await requireServer(flags);
    const status = await findProcess(client, name);
    await using handle = await attachTo(client, status, { role: 'drive', follow: false });
    const pieces: AsyncIterable<Uint8Array> | readonly string[] = flags.stdin ? untilEnd(openInput()) : [];
    const enter = status.io.kind === 'pty' ? '\r' : '\n'; // only a terminal turns a carriage return into a line feed
    const text = typed.map((word) => (word === '\r' ? enter : word)).join('');
    let isTaken = text === '' || (await handle.write(text)) === 'accepted';
    for await (const piece of pieces) isTaken &&= (await handle.write(piece)) === 'accepted';
    if (!isTaken) throw new Error(`the stdin of ${handle.id} is closed; nothing more can be sent to it`);
    if (flags.eof) await handle.closeStdin();
    return 0;
  },
);

/** The words after the name, in order; each key is a separate word. */
function typedWords(words: readonly Word[]): string[] {
  const [, ...typed] = words.filter(({ kind }) => kind === 'operand');
  return words.flatMap((word) => {
    if (word.kind === 'option' && word.name === 'key') return [parseKey(word.text)];
    return word.kind === 'operand' && typed.includes(word) ? [word.text] : [];
  });
}
