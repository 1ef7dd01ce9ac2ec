// A shell of 2 MB that briefly outlives this program. It waits for end-of-file on a pipe that only this program holds open, and then
// ends the processes that are left, even if this program was killed by SIGKILL. It needs no privileges and no running code of ours.

import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { Clock, Timer } from '../../base/clock.js';
import { signalPid } from './process-tree.js';
import { spawnFailed } from '../start/spawn-failure.js';

/** How the watchdog finds the processes to end. */
export type Quarry =
  /** Processes whose mark begins with this prefix: see linux/lineage.ts. */
  | { readonly kind: 'marked'; readonly prefix: string }
  /** The process groups passed to `guard`, and their descendants. */
  | { readonly kind: 'groups' };

/** A signal to the server's whole terminal or group must not kill the watchdog too. */
const preamble = `trap '' HUP INT TERM QUIT PIPE; cd /`;

/** Sent when this program has ended every process itself and verified it, so the watchdog has nothing to search for. */
const orderly = 'over';

/**
 * grep -s suppresses errors about processes that end while it runs; a zombie counts as dead even if its parent has not reaped it.
 * A hundred rounds of 50 ms outlast even a fork bomb's children. A program that keeps forking and exiting is gone by the time grep reads
 * it: the chase checks the newest pids without starting a process, and kills on sight.
 */
const markedScript = `${preamble}
end() {
  stat=') Z '
  read -r stat 2>/dev/null </proc/$1/stat
  case $stat in *') Z '*) ;; *) kill -s KILL $1 2>/dev/null; living=1;; esac
}
chase() {
  read -r _ _ _ _ newest </proc/loadavg
  pid=$newest
  while [ $pid -gt $((newest - 8)) ]; do
    while read -r _ name _ limit _; do
      case "$name $limit" in "realtime $1"????????) end $pid;; esac
    done </proc/$pid/limits
    pid=$((pid - 1))
  done
}
round=0
while read -r line; do [ "$line" = ${orderly} ] && exit 0; done
while [ $round -lt 100 ]; do
  living=0
  for file in $(grep -ls "^Max realtime timeout  *$1[0-9]\\{8\\} " /proc/[0-9]*/limits); do
    pid=\${file#/proc/} pid=\${pid%/*}
    end $pid
  done
  tries=0
  while [ $tries -lt 20 ]; do chase "$1"; tries=$((tries + 1)); done
  [ $living = 0 ] && exit 0
  round=$((round + 1))
  sleep 0.05
done`;

/** awk follows the known groups down to their descendants, which finds children that left their group as long as their ancestors live. */
const groupsScript = `${preamble}
groups=' '
for group in $1; do groups="$groups$group "; done
while read -r sign group; do
  case $sign in
    +) groups="$groups$group ";;
    -) groups="\${groups%% $group *} \${groups#* $group }";;
  esac
done
[ "$groups" = ' ' ] && exit 0
ps -A -o pid=,ppid=,pgid= | awk -v groups="$groups" '
  BEGIN { count = split(groups, list, " "); for (i = 1; i <= count; i++) isGroup[list[i]] = 1 }
  { parent[$1] = $2; if ($3 in isGroup) isMember[$1] = 1 }
  END {
    do { found = 0; for (pid in parent) if (!(pid in isMember) && (parent[pid] in isMember)) { isMember[pid] = 1; found = 1 } } while (found)
    for (pid in isMember) print pid
  }' | while read -r pid; do kill -s KILL "$pid" 2>/dev/null; done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done`;

/** Pause before a watchdog that ended is replaced, so that one that cannot run does not keep a core busy. */
const restartMs = 50;

/** How long after a SIGCHLD the watchdog is checked. The kernel sends that signal when a child stops, but not which child it was. */
const checkMs = 100;

/** Hanging ps processes must not pile up. */
const psTimeoutMs = 2_000;

export class Watchdog {
  readonly #quarry: Quarry;
  readonly #clock: Clock;
  #shell: ChildProcessByStdio<Writable, null, null> | undefined;
  #restart: Timer | undefined;
  #check: Timer | undefined;
  readonly #childChanged = () => {
    if (this.#shell === undefined) return;
    this.#check ??= this.#clock.afterIdle(checkMs, () => {
      this.#check = undefined;
      void this.#replaceStopped();
    });
  };
  #isClosed = false;
  readonly #groups = new Set<number>();
  readonly #leaderless = new Set<number>();

  constructor(quarry: Quarry, clock: Clock) {
    this.#quarry = quarry;
    this.#clock = clock;
    // One listener per server in this program is intended, so Node's leak warning must allow for it.
    process.setMaxListeners(process.getMaxListeners() + 1);
    process.on('SIGCHLD', this.#childChanged);
  }

  get pid(): number | undefined {
    return this.#shell?.pid;
  }

  /** Call before spawning a child; does nothing if the shell runs. Throws `spawnFailed` if it cannot start: no child may run unguarded. */
  start(): void {
    if (this.#shell !== undefined || this.#isClosed) return;
    this.#restart?.cancel();
    this.#restart = undefined;
    if (!this.#launch()) throw spawnFailed('outOfResources', 'cannot start the watchdog: out of processes or descriptors');
  }

  #launch(): boolean {
    // A replacement gets its groups as an argument: this program may be killed before it could write them to the pipe.
    const [script, argument] =
      this.#quarry.kind === 'marked' ? [markedScript, this.#quarry.prefix] : [groupsScript, [...this.#groups].join(' ')];
    let shell: ChildProcessByStdio<Writable, null, null>;
    try {
      shell = spawn('/bin/sh', ['-c', script, 'sluice-watchdog', argument], {
        stdio: ['pipe', 'ignore', 'ignore'],
        detached: true, // its own session, so it gets no signals from a terminal
        cwd: '/',
        env: { PATH: '/usr/bin:/bin' },
      });
    } catch {
      this.#startAgain();
      return false;
    }
    if (shell.pid === undefined) {
      shell.on('error', () => {}); // emitted later, but the caller learns of the failure now
      this.#startAgain();
      return false;
    }
    this.#shell = shell;
    shell.unref();
    if (shell.stdin instanceof Socket) shell.stdin.unref();
    shell.stdin.on('error', () => {}); // 'exit' follows
    // Children must not run unguarded.
    shell.on('exit', () => this.#startAgain());
    shell.on('error', () => this.#startAgain());
    return true;
  }

  /** A stopped watchdog would not notice the end of this program. Killing it makes `exit` start a replacement. */
  async #replaceStopped(): Promise<void> {
    const shell = this.#shell;
    if (shell?.pid !== undefined && (await isStopped(shell.pid))) shell.kill('SIGKILL');
  }

  /** Adds a group to end; only for a quarry of groups. */
  guard(group: number): void {
    this.#groups.add(group);
    this.#shell?.stdin.write(`+ ${group}\n`);
  }

  /** The group's leader has been reaped. The group is dropped once it is empty, since its id may then be reused. */
  leaderReaped(group: number): void {
    if (!this.#groups.has(group)) return;
    this.#leaderless.add(group);
    for (const each of this.#leaderless) {
      if (signalPid(-each, 0)) continue;
      this.#leaderless.delete(each);
      this.#groups.delete(each);
      this.#shell?.stdin.write(`- ${each}\n`);
    }
  }

  /** Dismisses the shell when everything is `gone`, otherwise makes it end what is `left`; resolves when the shell has exited. */
  async close(state: 'gone' | 'left'): Promise<void> {
    this.#isClosed = true;
    this.#restart?.cancel();
    this.#check?.cancel();
    process.off('SIGCHLD', this.#childChanged);
    process.setMaxListeners(process.getMaxListeners() - 1);
    const shell = this.#shell;
    if (shell === undefined || shell.exitCode !== null || shell.signalCode !== null) return;
    const ended = new Promise((resolve) => shell.once('exit', resolve));
    shell.ref();
    shell.kill('SIGCONT');
    shell.stdin.end(state === 'gone' ? `${orderly}\n` : '');
    await ended;
  }

  #startAgain(): void {
    this.#shell = undefined;
    this.#check?.cancel();
    this.#check = undefined;
    if (this.#isClosed || this.#restart !== undefined) return;
    this.#restart = this.#clock.afterIdle(restartMs, () => {
      this.#restart = undefined;
      this.#launch();
    });
  }
}

async function isStopped(pid: number): Promise<boolean> {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
  } catch {
    // Either there is no /proc, or no such process.
    const state = await new Promise<string>((resolve) => {
      const options = { timeout: psTimeoutMs, env: { PATH: '/bin:/usr/bin' } };
      execFile('ps', ['-o', 'stat=', '-p', String(pid)], options, (_, stdout) => resolve(stdout));
    });
    return state.trim().startsWith('T');
  }
}
