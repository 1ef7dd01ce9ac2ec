// Runs the real codex as a client of `sluice serve`, with a scripted model in place of a real one, and says what holds.
//
//   npm run e2e:codex -- [--only pipe,tty] [--transport ws|token|stdio] [--server "codex exec-server"]
//
// --server names another server to run against; it must know `--listen` and, for the transport "token", `--token-file`.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { scenarios } from './codex-scenarios.mjs';
import { startMockModel } from './mock-model.mjs';
import { scratchInstall } from './scratch-install.mjs';
import { openWireProxy } from './wire-proxy.mjs';

const transports = ['ws', 'token', 'stdio'];

/** Longest a scenario may take; several times what the slowest one needs. */
const scenarioMs = 90_000;

/** Patience with what has been asked to end: codex gives a server on stdio 2 s, and so does the server its processes. */
const endMs = 8_000;

/** What is shown of a log or an exchange when something failed. */
const shown = { logBytes: 2_000, messages: 40, messageChars: 220 };

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const { values: options } = parseArgs({
  options: { only: { type: 'string' }, transport: { type: 'string' }, server: { type: 'string' } },
});
const chosen = choice('only', options.only?.split(','), Object.keys(scenarios));
const serverCommand = options.server?.trim().split(/\s+/) ?? [process.execPath, main, 'serve'];
