// Checks the background server: its folder, and whether it has our version.

import path from 'node:path';
import type { EnvironmentInfo } from '../../protocol/index.js';
import { version } from '../../server/index.js';
import { findDaemon } from '../serve/daemon.js';
import { type Finding, messageOf } from './finding.js';
import { runtimeFolder } from '../serve/runtime-folder.js';

export async function backgroundServer(): Promise<Finding> {
  const { logFile } = runtimeFolder(process.env, 'leave');
  try {
    await using client = await findDaemon();
    if (client === undefined) return { state: 'ok', found: `not running; its folder is ${path.dirname(logFile)}` };
    return runningServer(await client.environment(), version);
  } catch (error) {
    return {
      state: 'broken',
      found: `cannot be reached: ${messageOf(error)}`,
      remedy: `its log is ${logFile}; end it with kill`,
    };
  }
}

export function runningServer(server: Pick<EnvironmentInfo, 'executorVersion' | 'serverPid'>, ownVersion: string): Finding {
  const pid = server.serverPid === undefined ? '' : ` with pid ${server.serverPid}`;
  const found = `runs${pid}, version ${server.executorVersion}`;
  if (server.executorVersion === ownVersion) return { state: 'ok', found };
  return {
    state: 'warning',
    found: `${found}, but this is ${ownVersion}`,
    remedy: 'sluice serve --stop ends it and its processes; the next "sluice exec -d" starts one of this version',
  };
}
