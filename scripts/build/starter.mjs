// The first lines of the program, which are both a shell script and a comment of JavaScript: Node resets every signal that was ignored when
// it was started, as nohup and a shell's "&" have it, so a shell has to see them first and hand them on.

/** The signals of src/cli/inherited-signals.ts. */
const signals = 'HUP INT QUIT PIPE TERM USR1 USR2 TSTP TTIN TTOU';

/**
 * A signal that was ignored on entry cannot be trapped, so one that a shell of its own sends itself tells. That takes a process, which is
 * spared where the kernel says that nothing is ignored. Node gets the path as it is, links included, and finds the file behind them; the
 * two dashes keep our options, such as --env-file, from being Node's. What is assigned here could be a variable of the user's, and so is
 * not called anything simpler. No line may hold the two characters that end a comment of JavaScript.
 */
export const shellHead = `#!/usr/bin/env sh
':' /*
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
      for name in ${signals}; do
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
`;
