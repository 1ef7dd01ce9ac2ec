// Signals that this program was started to ignore, as nohup and a shell's "&" arrange. Node resets them before any script runs, so the
// shell script at the head of the program passes them on. Such a signal is neither forwarded to a command nor does it end us.

/** Also listed in sluice.cjs, without SIG. Sluice needs others, such as SIGCHLD, for itself. */
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

/** Ignores them again, and removes the variable from the environment that commands inherit. Call before anything is started. */
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
  const watched = signals.filter((signal) => !ignored.includes(signal));
  for (const signal of watched) process.on(signal, listener);
  return {
    [Symbol.dispose]() {
      for (const signal of watched) process.off(signal, listener);
    },
  };
}

/** Wraps a command so that it runs with the same signals ignored: Node starts every child with none ignored. */
export function ignoringTheSame(command: readonly [string, ...string[]]): readonly [string, ...string[]] {
  const names = ignoredSignals().map((signal) => signal.slice('SIG'.length));
  return names.length === 0 ? command : ['/bin/sh', '-c', `trap '' ${names.join(' ')}; exec "$@"`, 'sh', ...command];
}

function ignore(): void {}
