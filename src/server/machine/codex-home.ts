// Where Codex keeps its configuration, plugins and skills on this machine.

import { homedir } from 'node:os';
import { join } from 'node:path';

export interface CodexFolders {
  readonly userHome: string;
  readonly codexHome: string;
}

export function codexFolders(env: Readonly<Record<string, string | undefined>>): CodexFolders {
  const userHome = nonEmpty(env['HOME']) ?? homedir();
  return { userHome, codexHome: nonEmpty(env['CODEX_HOME']) ?? join(userHome, '.codex') };
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
