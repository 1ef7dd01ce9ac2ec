// Signals that this program was started to ignore, as nohup and a shell's "&" do it. Node forgets them before any script runs, so the
// shell at the head of the program hands them on. Such a signal is neither passed to a command nor the end of us.

/** Named in sluice.cjs, without their SIG. Others, such as SIGCHLD, Sluice needs for itself. */
const inheritable = [
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGPIPE',
  'SIGTERM',
  'SIGUSR1',
  'SIGUSR2',
  'SIGTSTP',
  'SIGTTIN',
  'SIGTTOU',
] as const;

const variable = 'SLUICE_IGNORED_SIGNALS';

/** Ignores them again, and takes the variable out of the environment, which is for commands. Call before anything is started. */
export function ignoreInherited(env: NodeJS.ProcessEnv): void {
  const names = env[variable]?.split(' ') ?? [];
  delete env[variable];
  for (const signal of inheritable) if (names.includes(signal.slice('SIG'.length))) process.on(signal, ignore);
}

export function ignoredSignals(): NodeJS.Signals[] {
  return inheritable.filter((signal) => process.listeners(signal).includes(ignore));
}

/** Calls the listener with each of these signals that is not ignored, until disposed. */
export function onSignals(signals: readonly NodeJS.Signals[], listener: (signal: NodeJS.Signals) => void): Disposable {
  const ignored = ignoredSignals();
  const heard = signals.filter((signal) => !ignored.includes(signal));
  for (const signal of heard) process.on(signal, listener);
  return {
    [Symbol.dispose]() {
      for (const signal of heard) process.off(signal, listener);
    },
  };
}

/** A command that runs this one with the same signals ignored: Node starts every child with none. */
export function ignoringTheSame(command: readonly [string, ...string[]]): readonly [string, ...string[]] {
  const names = ignoredSignals().map((signal) => signal.slice('SIG'.length));
  return names.length === 0 ? command : ['/bin/sh', '-c', `trap '' ${names.join(' ')}; exec "$@"`, 'sh', ...command];
}

function ignore(): void {}
