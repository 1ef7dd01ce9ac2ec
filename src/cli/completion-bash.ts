// The completion script for bash: a few functions made from the table, then what is the same for every command.

import { agentActions } from './agent/options.js';
import { type CompletedCommand, type CompletedOption, forwardedOptions, ownOptions, shells } from './completion-table.js';

export function bashScript(commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name).join(' ');
  return `# Completes sluice in bash. Made by "sluice completion bash".

_sluice_own() {
  case $current in
    -*) _sluice_offer ${spellingsOf(ownOptions)} ;;
    *) _sluice_offer ${names} ;;
  esac
}

_sluice_options() {
  case $command in
${commands.map(({ name, options }) => `    ${name}) _sluice_offer ${spellingsOf(options)} ;;`).join('\n')}
  esac
}

# Sets what an option takes; fails for one without a value.
_sluice_takes() {
  case "$command $1" in
${takenCases(commands).join('\n')}
    *) return 1 ;;
  esac
}

_sluice_operands() {
  case $command in
${commands.flatMap((command) => operandCase(command, names)).join('\n')}
  esac
}

# Whether the operands are a command to run, with arguments of its own.
_sluice_runs() {
  case $command in
    ${commands.flatMap(({ name, operands }) => (operands === 'command' ? [name] : [])).join(' | ')}) ;;
    *) return 1 ;;
  esac
}

# Keeps what names the server, for asking it.
_sluice_given() {
  local value=\${2//[\\"\\']/}
  case $1 in
    ${forwardedOptions.map((name) => `--${name}`).join(' | ')}) server+=("$1" "\${value/#\\~/$HOME}") ;;
  esac
}
${sameForAll}`;
}

function spellingsOf(options: readonly CompletedOption[]): string {
  return options.flatMap(({ spellings }) => spellings).join(' ');
}

/** One branch for all options that take the same. */
function takenCases(commands: readonly CompletedCommand[]): string[] {
  const patterns = new Map<string, string[]>();
  for (const { name, options } of commands) {
    for (const { value, spellings } of options) {
      if (value === undefined) continue;
      const taken = value.kind === 'words' ? value.words.join(' ') : value.kind;
      patterns.set(taken, [...(patterns.get(taken) ?? []), ...spellings.map((spelled) => `'${name} ${spelled}'`)]);
    }
  }
  return [...patterns].map(([taken, options]) => `    ${options.join(' | ')}) taken='${taken}' ;;`);
}

function operandCase({ name, operands, isRepeatable }: CompletedCommand, commandNames: string): string[] {
  switch (operands) {
    case 'none':
    case 'command':
      return [];
    case 'processes':
      return [`    ${name}) ${isRepeatable ? '' : '((operands > 0)) || '}_sluice_processes ;;`];
    case 'commands':
      return [`    ${name}) ((operands > 0)) || _sluice_offer ${commandNames} ;;`];
    case 'shells':
      return [`    ${name}) ((operands > 0)) || _sluice_offer ${shells.join(' ')} ;;`];
    case 'actions':
      return [`    ${name}) ((operands > 0)) || _sluice_offer ${agentActions.join(' ')} ;;`];
  }
}

/** Needs no bash-completion, and makes do without compopt, which bash 3.2 lacks. All functions share the variables of `_sluice`. */
const sameForAll = `
_sluice() {
  COMPREPLY=()
  local IFS=$' \\t\\n' words=() starts=() server=() pending='' taken='' operands=0 after_dashes='' runs_at=0
  _sluice_split
  local last=$((\${#words[@]} - 1))
  local current=\${words[last]} command=\${words[1]} quote=''
  case $current in
    [\\"\\']*) quote=\${current:0:1} current=\${current:1} ;;
  esac
  # What bash keeps of the word, as all up to the last : or =.
  local kept=\${current%"$2"}
  if ((last == 1)); then
    _sluice_own
    return
  fi
  _sluice_read
  if ((runs_at > 0)); then
    _sluice_run "\${starts[runs_at]}"
  elif [[ -n $pending ]]; then
    _sluice_value "$pending" ''
  elif [[ -z $after_dashes && $current == --*=* ]]; then
    _sluice_value "\${current%%=*}" "\${current%%=*}="
  elif [[ -z $after_dashes && $current == -* ]]; then
    _sluice_options
  else
    _sluice_operands
  fi
}

# Words up to the cursor. Bash splits at : and = too, so what no blank separates is joined again.
_sluice_split() {
  local line=\${COMP_LINE:0:COMP_POINT} index word blank count=0
  for ((index = 0; index <= COMP_CWORD; index++)); do
    blank=\${line%%[![:space:]]*}
    line=\${line#"$blank"}
    word=\${COMP_WORDS[index]}
    ((\${#word} > \${#line})) && word=$line
    line=\${line#"$word"}
    if ((count > 0)) && [[ -z $blank && -n $word ]]; then
      words[count - 1]+=$word
    else
      words[count]=$word starts[count]=$index
      count=$((count + 1))
    fi
  done
}

# What stands before the current word.
_sluice_read() {
  local index word
  for ((index = 2; index < last; index++)); do
    word=\${words[index]}
    if [[ -n $pending ]]; then
      _sluice_given "$pending" "$word"
      pending=''
    elif [[ -z $after_dashes && $word == -?* ]]; then
      _sluice_read_option "$word"
    elif _sluice_runs; then
      runs_at=$index
      return
    else
      operands=$((operands + 1))
    fi
  done
  if _sluice_runs && [[ -z $pending && (-n $after_dashes || $current != -*) ]]; then runs_at=$last; fi
}

_sluice_read_option() {
  local letters
  case $1 in
    --) after_dashes=1 ;;
    --*=*) _sluice_given "\${1%%=*}" "\${1#*=}" ;;
    --*) if _sluice_takes "$1"; then pending=$1; fi ;;
    *)
      # The first letter that takes a value has the rest of the word, or else the next word.
      for ((letters = 1; letters < \${#1}; letters++)); do
        _sluice_takes "-\${1:letters:1}" || continue
        ((letters < \${#1} - 1)) || pending=-\${1:letters:1}
        break
      done
      ;;
  esac
}

_sluice_offer() {
  local word
  for word in "$@"; do
    if [[ $word == "$current"* ]]; then COMPREPLY+=("\${word#"$kept"}"); fi
  done
}

# Files are left to bash where it can: it knows about quotes and home folders.
_sluice_value() {
  local word
  _sluice_takes "$1" || return 0
  case $taken in
    text) ;;
    files) compopt -o default 2>/dev/null || _sluice_paths -f "$2" ;;
    folders) compopt -o dirnames 2>/dev/null || _sluice_paths -d "$2" ;;
    *) for word in $taken; do _sluice_offer "$2$word"; done ;;
  esac
}

_sluice_paths() {
  local path
  while IFS= read -r path; do _sluice_offer "$2$path"; done < <(compgen "$1" -- "\${current#"$2"}")
}

_sluice_processes() {
  local name
  while IFS= read -r name; do
    [[ -n $quote ]] || printf -v name %q "$name"
    _sluice_offer "$name"
  done < <("\${words[0]/#\\~/$HOME}" ps --quiet \${server[@]+"\${server[@]}"} 2>/dev/null </dev/null)
}

# The command that is run is completed as if it stood alone.
_sluice_run() {
  local name
  if declare -F _comp_command_offset >/dev/null; then
    _comp_command_offset "$1"
  elif declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif ((runs_at < last)); then
    compopt -o default 2>/dev/null || _sluice_paths -f ''
  else
    while IFS= read -r name; do _sluice_offer "$name"; done < <(compgen -c -- "$current" | sort -u)
  fi
}

complete -F _sluice sluice
`;
