// The completion script for zsh: one `_arguments` for each command, which does the rest.

import { agentActions } from './agent/options.js';
import {
  type CompletedCommand,
  type CompletedOption,
  type CompletedValue,
  forwardedOptions,
  ownOptions,
  shells,
} from './completion-table.js';

/** Works as a file on `fpath`, for which the first line is, and when sourced after `compinit`. */
export function zshScript(commands: readonly CompletedCommand[]): string {
  return `#compdef sluice
# Completes sluice in zsh. Made by "sluice completion zsh".

_sluice() {
  local program=$words[1] curcontext=$curcontext
  local -a line
  local -A opt_args
  if (( CURRENT == 2 )); then
    _arguments ${[...ownOptions.flatMap(optionSpecs), '1: :_sluice_commands'].map(quoted).join(' ')}
    return
  fi
  shift words
  (( CURRENT-- ))
  # _arguments loses count of the operands when this comes first.
  if (( CURRENT > 2 )) && [[ $words[2] == -- ]]; then
    words[2]=()
    (( CURRENT-- ))
  fi
  case $words[1] in
${commands.map(commandCase).join('\n')}
  esac
}

_sluice_commands() {
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary.replaceAll(':', '\\:')}`)}`).join('\n')}
  )
  _describe -t commands command commands
}

_sluice_processes() {
  local expl
  local -a names server
  # As they stand on the line: _call_program takes quotes off.
${forwardedOptions.map((name) => `  (( $+opt_args[--${name}] )) && server+=(--${name} $opt_args[--${name}])`).join('\n')}
  names=(\${(f)"$(_call_program processes $program ps --quiet $server 2>/dev/null </dev/null)"})
  _wanted processes expl process compadd -a names
}

if [[ $funcstack[1] == _sluice ]]; then
  _sluice "$@"
else
  compdef _sluice sluice
fi
`;
}

function commandCase(command: CompletedCommand): string {
  const { name, options } = command;
  const specs = [...options.flatMap(optionSpecs), ...operandSpecs(command)];
  // What follows the first operand belongs to the command that is run.
  const own = command.operands === 'command' ? " -A '-*'" : '';
  return `    ${name})\n      _arguments -s -S${own} \\\n${specs.map((spec) => `        ${quoted(spec)}`).join(' \\\n')}\n      ;;`;
}

function optionSpecs({ spellings, meaning, value, isRepeatable }: CompletedOption): string[] {
  const prefix = isRepeatable ? '*' : `(${spellings.join(' ')})`;
  const explained = `[${meaning.replaceAll(/[\\[\]]/g, '\\$&')}]`;
  return spellings.map((spelled) => {
    if (value === undefined) return `${prefix}${spelled}${explained}`;
    const attached = spelled.startsWith('--') ? '=' : '+';
    return `${prefix}${spelled}${attached}${explained}:${value.placeholder.replaceAll(':', '\\:')}:${valueAction(value)}`;
  });
}

function valueAction(value: CompletedValue): string {
  switch (value.kind) {
    case 'words':
      return `(${value.words.join(' ')})`;
    case 'files':
      return '_files';
    case 'folders':
      return '_files -/';
    case 'text':
      return ' ';
  }
}

function operandSpecs({ operands, isRepeatable }: CompletedCommand): string[] {
  switch (operands) {
    case 'none':
      return [];
    case 'command':
      return ['(-)1: :_command_names -e', '*:: :_normal'];
    case 'processes':
      return [`${isRepeatable ? '*' : '1'}: :_sluice_processes`];
    case 'commands':
      return ['1: :_sluice_commands'];
    case 'shells':
      return [`1:shell:(${shells.join(' ')})`];
    case 'actions':
      return [`1:action:(${agentActions.join(' ')})`];
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
