// Codex's calls that look for plugins and skills on this machine.

import { FileError, pathFromUri } from '../../files/index.js';
import { execError } from '../../protocol/index.js';
import type { CallContext, CallGroup, MethodsOf } from './call-group.js';
import { scanRoot } from './capability-root.js';
import { fileFailureOf, withFileFailures } from './file-failure.js';
import { discoverInstalled } from './installed-plugins.js';
import { requireUnconfined } from './sandbox-rule.js';

/** Roots in one call, and how many are searched at a time: Codex's limits. */
const mostRoots = 128;
const rootsAtOnce = 8;

export async function createRootCalls({ machine }: CallContext): Promise<CallGroup<MethodsOf<'capabilityRoots'>>> {
  const shared = await machine.shared();
  const ended = new AbortController();
  return {
    calls: withFileFailures({
      'capabilityRoots/discoverV1': async ({ roots }) => {
        if (roots.length > mostRoots) {
          throw execError('invalidRequest', { problem: `capability root discovery accepts at most ${mostRoots} roots` });
        }
        for (const { path, sandbox } of roots) {
          requireUri(path);
          requireUnconfined(sandbox, 'read');
        }
        const found = [];
        for (let at = 0; at < roots.length; at += rootsAtOnce) {
          const searches = roots.slice(at, at + rootsAtOnce).map(async ({ id, path }) => ({
            id,
            path,
            ...(await scanRoot(shared, path, ended.signal)),
          }));
          found.push(...(await Promise.all(searches)));
        }
        return { roots: found };
      },
    }),
    flowCalls: {},
    end: () => ended.abort(endedReason()),
  };
}

export async function createCapabilityCalls(context: CallContext): Promise<CallGroup<MethodsOf<'capabilities'>>> {
  const shared = await context.machine.shared();
  const ended = new AbortController();
  return {
    calls: withFileFailures({
      'capabilities/discoverV2': async ({ cwd, sandbox }) => {
        requireUri(cwd);
        requireUnconfined(sandbox, 'read');
        return discoverInstalled(shared, { env: context.session.surroundings.env, signal: ended.signal });
      },
    }),
    flowCalls: {},
    end: () => ended.abort(endedReason()),
  };
}

/** A path of another platform is a URI, too. */
function requireUri(text: string): void {
  try {
    pathFromUri(text);
  } catch (error) {
    if (!(error instanceof FileError) || error.kind === 'badUri') throw fileFailureOf(error);
  }
}

function endedReason(): Error {
  return new FileError('failed', 'the connection has ended');
}
