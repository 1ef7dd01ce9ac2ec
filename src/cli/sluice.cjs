#!/usr/bin/env sh
':' /*
# Both a shell script and JavaScript. Node resets every signal that was ignored when it was started, as nohup and a shell's "&" arrange, so
# the shell checks first and passes them on in a variable, for src/cli/inherited-signals.ts. A signal that was ignored on entry cannot be
# trapped, so a shell detects it by sending it to itself; that takes a process, which is saved when the kernel reports none as ignored.
# Node gets the path unchanged and follows its links; the two dashes keep Node from taking our options, such as --env-file.
unset SLUICE_IGNORED_SIGNALS
sluice_mask=unknown
if [ -r /proc/self/status ]; then
  while read -r sluice_name sluice_value; do
    [ "$sluice_name" = SigIgn: ] && sluice_mask=$sluice_value && break
  done </proc/self/status
fi
case $sluice_mask in
  *[!0]*)
    SLUICE_IGNORED_SIGNALS=$(exec /bin/sh -c '
      for name in HUP INT QUIT PIPE TERM USR1 USR2 TSTP TTIN TTOU; do
        got=
        trap got=1 $name
        kill -s $name $$
        [ "$got" ] || printf "%s " $name
      done')
    export SLUICE_IGNORED_SIGNALS
    ;;
esac
exec node -- "$0" "$@"
*/
'use strict';

// Node 22 and newer can keep compiled code. It is kept in the user's own folder: the default below /tmp belongs to the first user who
// creates it, and that user could replace the code.
const { XDG_CACHE_HOME = '', HOME = '' } = process.env;
const cache = XDG_CACHE_HOME.startsWith('/') ? XDG_CACHE_HOME : `${HOME}/.cache`;
if (cache.startsWith('/')) require('node:module').enableCompileCache?.(`${cache}/sluice`);
void require('./main.cjs');
