// The table of commands. Cheap to import: a command's own file is loaded only when the command is used.

import { closestName } from './closest-name.js';
import { type Command, UsageError } from './command.js';

export const commandGroups = ['Run', 'Look', 'Steer', 'Files', 'Set up'] as const;

export interface CommandEntry {
  readonly name: string;
  readonly group: (typeof commandGroups)[number];
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

export const commands: readonly CommandEntry[] = [
  {
    name: 'exec',
    group: 'Run',
    summary: 'Run a command: here, on a server, or detached with -d',
    load: async () => (await import('./exec.js')).exec,
  },
  {
    name: 'agent',
    group: 'Run',
    summary: 'Drive an agent program turn by turn: run, resume, logs, usage',
    load: async () => (await import('./agent/agent.js')).agent,
  },
  {
    name: 'serve',
    group: 'Run',
    summary: 'Serve processes to other programs; --daemon for the background',
    load: async () => (await import('./serve/serve.js')).serve,
  },
  {
    name: 'forward',
    group: 'Run',
    summary: 'Make ports and sockets of the server’s machine available here',
    load: async () => (await import('./forward.js')).forward,
  },
  {
    name: 'ps',
    group: 'Look',
    summary: 'List processes',
    load: async () => (await import('./ps.js')).ps,
  },
  {
    name: 'logs',
    group: 'Look',
    summary: 'Print what a process wrote; --follow to keep printing',
    load: async () => (await import('./logs.js')).logs,
  },
  {
    name: 'snapshot',
    group: 'Look',
    summary: 'Print the retained beginning and end of the output',
    load: async () => (await import('./snapshot.js')).snapshot,
  },
  {
    name: 'wait',
    group: 'Look',
    summary: 'Wait for processes to end, and exit with their status',
    load: async () => (await import('./wait.js')).wait,
  },
  {
    name: 'ports',
    group: 'Look',
    summary: 'List listening ports and the processes behind them',
    load: async () => (await import('./ports.js')).ports,
  },
  {
    name: 'attach',
    group: 'Steer',
    summary: 'Join a process: see its output, type into it',
    load: async () => (await import('./attach.js')).attach,
  },
  {
    name: 'send',
    group: 'Steer',
    summary: 'Type text and keys into a process',
    load: async () => (await import('./send.js')).send,
  },
  {
    name: 'resize',
    group: 'Steer',
    summary: 'Set the size of a process’s terminal',
    load: async () => (await import('./resize.js')).resize,
  },
  {
    name: 'kill',
    group: 'Steer',
    summary: 'End processes and everything they started, or send a signal',
    load: async () => (await import('./kill.js')).kill,
  },
  {
    name: 'restart',
    group: 'Steer',
    summary: 'End processes that were left running, and start them again',
    load: async () => (await import('./restart.js')).restart,
  },
  {
    name: 'rm',
    group: 'Steer',
    summary: 'Forget processes that have ended; --force ends them first',
    load: async () => (await import('./rm.js')).rm,
  },
  {
    name: 'cp',
    group: 'Files',
    summary: 'Copy files and folders to a server or from it',
    load: async () => (await import('./cp.js')).cp,
  },
  {
    name: 'files',
    group: 'Files',
    summary: 'Look at the files of a server and change them: ls, cat, rm, watch, edit',
    load: async () => (await import('./files/files.js')).files,
  },
  {
    name: 'doctor',
    group: 'Set up',
    summary: 'Check whether Sluice works on this machine, and suggest fixes',
    load: async () => (await import('./doctor/doctor.js')).doctor,
  },
  {
    name: 'completion',
    group: 'Set up',
    summary: 'Print the completion script for bash, zsh or fish',
    load: async () => (await import('./completion.js')).completion,
  },
  {
    name: 'help',
    group: 'Set up',
    summary: 'Explain a command',
    load: async () => (await import('./help.js')).help,
  },
];

/** Names that other programs use for these commands. */
const otherNames: Readonly<Record<string, string>> = {
  run: 'exec',
  start: 'exec -d',
  stop: 'kill',
  list: 'ps',
  ls: 'ps',
  status: 'ps',
  top: 'ps --watch',
  log: 'logs',
  tail: 'logs -f',
  remove: 'rm',
  enter: 'attach',
  copy: 'cp',
  upload: 'cp',
  download: 'cp',
  edit: 'files edit',
};

export function findCommand(name: string): CommandEntry {
  const found = commands.find((entry) => entry.name === name);
  if (found !== undefined) return found;
  const names = commands.map((entry) => entry.name);
  const nearest = Object.hasOwn(otherNames, name) ? otherNames[name] : closestName(name, names);
  const hint = nearest === undefined ? '"sluice --help" lists them' : `did you mean "sluice ${nearest}"?`;
  throw new UsageError(`unknown command "${name}"; ${hint}`);
}
