// The text of `sluice serve --help`, made from the table of options.

import { type Option, envNameOf, limitFlag, limitNames, plainOptions, serveOptions } from './serve-options.js';

/** Columns a terminal has at least. */
const width = 100;
const indent = ' '.repeat(6);

export function serveHelp(): string {
  const limits = limitNames.map(limitFlag);
  return [
    'Serve processes to clients over WebSocket, Unix socket or stdio. The address is the first line on stdout.',
    '',
    '  sluice serve                                      for clients on this machine, on a free port',
    '  sluice serve --listen stdio                       for one client, as over ssh',
    '  sluice serve --listen ws://0.0.0.0:4500 --token-file token',
    '',
    'Each option can also be set by the environment variable named in brackets, lists separated by commas, or in a',
    'config file: --max-connections 10 is {"maxConnections": 10}. Flags win over variables, variables over the file.',
    '',
    'Options',
    ...Object.keys(plainOptions).flatMap(describe),
    '',
    'Limits. Sizes take KiB, MiB and GiB.',
    ...limits.flatMap(describe),
    '',
  ].join('\n');
}

function describe(flag: string): string[] {
  const option = serveOptions.get(flag);
  if (option === undefined) return [];
  const told = option.default === undefined ? '' : ` Default: ${option.default}.`;
  return [`  ${spelled(flag, option)}`, ...wrapped(`${option.meaning}${told} [${envNameOf(flag)}]`)];
}

function spelled(flag: string, { kind, placeholder, default: standard }: Option): string {
  if (kind !== 'switch') return `--${flag} ${placeholder ?? 'VALUE'}`;
  return standard === 'on' ? `--no-${flag}, --${flag}` : `--${flag}, --no-${flag}`;
}

function wrapped(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length >= width) lines.push(indent + word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
