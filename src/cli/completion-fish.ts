// The completion script for fish: one `complete` for each option and operand, each with the condition under which it counts.

import { agentActions } from './agent/options.js';
import {
  type CompletedCommand,
  type CompletedOption,
  type CompletedValue,
  forwardedOptions,
  ownOptions,
  shells,
} from './completion-table.js';

export function fishScript(commands: readonly CompletedCommand[]): string {
  const forwarded = forwardedOptions.map((name) => `--${name}`);
  const runs = commands.flatMap(({ name, operands }) => (operands === 'command' ? [name] : []));
  return `# Completes sluice in fish. Made by "sluice completion fish".

function __sluice_at_command
    test (count (commandline -opc)) -eq 1
end

function __sluice_in
    set -l words (commandline -opc)
    test "$words[2]" = $argv[1]
end

function __sluice_before_operands
    set -l operands (__sluice_operands)
    __sluice_in $argv[1]; and not set -q operands[1]
end

# Whether an option of a command has its value in the next word.
function __sluice_takes_value
    contains -- "$argv" ${commands.flatMap(valueSpellings).map(quoted).join(' ')}
end

# What the command was given besides options, up to the current word.
function __sluice_operands
    set -l words (commandline -opc)
    set -l command $words[2]
    set -l pending
    set -l after_dashes
    for word in $words[3..]
        if set -q pending[1]
            set pending
        else if set -q after_dashes[1]
            string escape -- $word
        else
            switch $word
                case --
                    set after_dashes 1
                case '--*'
                    __sluice_takes_value $command $word; and set pending 1
                case '-?*'
                    # The first letter that takes a value has the rest of the word, or else the next word.
                    set -l letters (string split '' -- (string sub -s 2 -- $word))
                    while set -q letters[1]
                        if __sluice_takes_value $command -$letters[1]
                            set -q letters[2]; or set pending 1
                            break
                        end
                        set -e letters[1]
                    end
                case '*'
                    string escape -- $word
                    # The rest is for the command that is run.
                    contains -- $command ${runs.join(' ')}; and set after_dashes 1
            end
        end
    end
end

function __sluice_processes
    set -l words (commandline -opc)
    set -l server
    for index in (seq (count $words))
        switch $words[$index]
            case ${forwarded.join(' ')}
                set -a server $words[$index] $words[(math $index + 1)]
            case ${forwarded.map((option) => `'${option}=*'`).join(' ')}
                set -a server $words[$index]
        end
    end
    set -l program (string replace -r '^~' $HOME -- $words[1])
    command $program ps --quiet $server 2>/dev/null </dev/null
end

# The command that is run is completed as if it stood alone.
function __sluice_run
    set -l current (commandline -ct)
    complete --do-complete=(string join ' ' -- (__sluice_operands) "$current")
end

complete -c sluice -f
${ownOptions.flatMap((option) => optionLines(option, '__sluice_at_command')).join('\n')}
${commands.map(({ name, summary }) => completeLine('__sluice_at_command', `-a ${name} -d ${quoted(summary)}`)).join('\n')}
${commands.flatMap((command) => commandLines(command, commands)).join('\n')}
`;
}

function valueSpellings({ name, options }: CompletedCommand): string[] {
  return options.flatMap(({ value, spellings }) => (value === undefined ? [] : spellings.map((spelled) => `${name} ${spelled}`)));
}

function commandLines(command: CompletedCommand, all: readonly CompletedCommand[]): string[] {
  const { name, options, operands } = command;
  const condition = operands === 'command' ? `__sluice_before_operands ${name}` : `__sluice_in ${name}`;
  return [...options.flatMap((option) => optionLines(option, condition)), ...operandLines(command, all)];
}

function operandLines({ name, operands, isRepeatable }: CompletedCommand, all: readonly CompletedCommand[]): string[] {
  const first = `__sluice_before_operands ${name}`;
  switch (operands) {
    case 'none':
      return [];
    case 'command':
      return [completeLine(`__sluice_in ${name}`, "-a '(__sluice_run)'")];
    case 'processes':
      return [completeLine(isRepeatable ? `__sluice_in ${name}` : first, "-a '(__sluice_processes)'")];
    case 'commands':
      return all.map((each) => completeLine(first, `-a ${each.name} -d ${quoted(each.summary)}`));
    case 'shells':
      return [completeLine(first, `-a '${shells.join(' ')}'`)];
    case 'actions':
      return [completeLine(first, `-a '${agentActions.join(' ')}'`)];
  }
}

/** A letter stands beside the first long spelling; the other way of a toggle has a line of its own. */
function optionLines({ spellings, meaning, value }: CompletedOption, condition: string): string[] {
  const letters = spellings.filter((spelled) => !spelled.startsWith('--')).map((spelled) => ` -s ${spelled.slice(1)}`);
  const names = spellings.filter((spelled) => spelled.startsWith('--'));
  const told = `${value === undefined ? '' : ` ${valueWords(value)}`} -d ${quoted(meaning)}`;
  return names.map((name, index) => completeLine(condition, `-l ${name.slice(2)}${index === 0 ? letters.join('') : ''}${told}`));
}

function valueWords(value: CompletedValue): string {
  switch (value.kind) {
    case 'words':
      return `-x -a '${value.words.join(' ')}'`;
    case 'files':
      return '-r -F';
    case 'folders':
      return "-x -a '(__fish_complete_directories)'";
    case 'text':
      return '-x';
  }
}

function completeLine(condition: string, rest: string): string {
  return `complete -c sluice -n '${condition}' ${rest}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, '\\$&')}'`;
}
