// Parses the words of a command line into options and operands, by the command's table of options. Does not interpret values.

import { closestName } from './closest-name.js';
import { type Manual, type Option, type Options, UsageError, type Word, placeholderOf, spellings } from './command.js';

/**
 * Returns options and operands in order. Everything after the first operand of `exec` belongs to that command and is never an option of
 * ours. Throws a UsageError that says in one line what is wrong and what would be right.
 */
export function readWords(manual: Pick<Manual, 'name' | 'options' | 'operands'>, args: readonly string[]): Word[] {
  const words: Word[] = [];
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--' || (manual.operands === 'command' && !isOption(arg))) {
      const separator: Word[] = arg === '--' ? [{ kind: 'separator' }] : [];
      const operands = arg === '--' ? rest : [arg, ...rest];
      return [...words, ...separator, ...operands.map((text): Word => ({ kind: 'operand', text }))];
    }
    if (arg === '--help' || arg === '-h') return [{ kind: 'help' }];
    if (!isOption(arg)) words.push({ kind: 'operand', text: arg });
    else if (arg.startsWith('--')) words.push(readLong(manual, arg, rest));
    else words.push(...(readAlone(manual, arg) ?? readShort(manual, arg, rest)));
  }
  return words;
}

/** A lone dash is an operand, as in other programs. */
function isOption(arg: string): boolean {
  return arg.startsWith('-') && arg !== '-';
}

function readLong({ name: command, options }: Pick<Manual, 'name' | 'options'>, arg: string, rest: string[]): Word {
  const [, spelled = '', inline] = /^--([^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
  const negated = spelled.replace(/^no-/, '');
  if (negated !== spelled && options[negated]?.kind === 'toggle') {
    if (inline !== undefined) throw takesNoValue(`--${spelled}`, inline, negated);
    return { kind: 'option', name: negated, text: 'false' };
  }
  const option = Object.hasOwn(options, spelled) ? options[spelled] : undefined;
  if (option === undefined) throw unknownOption(command, `--${spelled}`, options);
  return { kind: 'option', name: spelled, text: readValue({ spelled: `--${spelled}`, option, inline }, rest) };
}

/** `-9` is `--signal 9` where the option allows it. */
function readAlone({ options }: Pick<Manual, 'options'>, arg: string): Word[] | undefined {
  const text = arg.slice(1);
  const found = Object.entries(options).find(([, { alone }]) => alone?.test(text));
  return found === undefined ? undefined : [{ kind: 'option', name: found[0], text }];
}

/** `-dt` is `-d -t`; `-eA=1` is `-e A=1`. */
function readShort({ name: command, options }: Pick<Manual, 'name' | 'options'>, arg: string, rest: string[]): Word[] {
  const words: Word[] = [];
  for (let at = 1; at < arg.length; at += 1) {
    const letter = arg.charAt(at);
    const found = Object.entries(options).find(([, { short }]) => short === letter);
    if (found === undefined) throw unknownOption(command, `-${letter}`, options);
    const [name, option] = found;
    if (option.kind === 'switch' || option.kind === 'toggle') {
      words.push({ kind: 'option', name, text: 'true' });
      continue;
    }
    const inline = at + 1 < arg.length ? arg.slice(at + 1) : undefined;
    words.push({ kind: 'option', name, text: readValue({ spelled: `-${letter}`, option, inline }, rest) });
    break;
  }
  return words;
}

interface Given {
  readonly spelled: string;
  readonly option: Option;
  /** The text after "=", or after the letter. */
  readonly inline: string | undefined;
}

function readValue({ spelled, option, inline }: Given, rest: string[]): string {
  if (option.kind === 'switch' || option.kind === 'toggle') {
    if (inline !== undefined) throw takesNoValue(spelled, inline, option.kind === 'toggle' ? spelled.slice(2) : undefined);
    return 'true';
  }
  const value = inline ?? rest[0];
  // "--name --tty" is a forgotten value; a value that begins with a dash can be given with "=".
  if (value === undefined || (inline === undefined && isOption(value))) {
    throw new UsageError(`${spelled} needs a value, as in ${spelled} ${placeholderOf(option)}`);
  }
  if (inline === undefined) rest.shift();
  return value;
}

function takesNoValue(spelled: string, inline: string, toggle: string | undefined): UsageError {
  const forms = toggle === undefined ? '' : `; use --${toggle} or --no-${toggle}`;
  return new UsageError(`${spelled} takes no value, got "${inline}"${forms}`);
}

function unknownOption(command: string, spelled: string, options: Options): UsageError {
  const same = Object.entries(options).find(([, { otherNames = [] }]) => otherNames.includes(spelled));
  const nearest = same === undefined ? closestName(spelled, spellings(options)) : `--${same[0]}`;
  const hint = nearest === undefined ? `"sluice ${command} --help" lists all options` : `did you mean ${nearest}?`;
  return new UsageError(`unknown option "${spelled}"; ${hint}`);
}
