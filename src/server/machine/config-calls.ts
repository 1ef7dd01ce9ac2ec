// Codex's call for the parts of its configuration files on this machine that a client asks for.

import { execError } from '../../protocol/index.js';
import type { CallContext, CallGroup, MethodsOf } from './call-group.js';
import { readEnvironmentConfig } from './environment-config.js';
import { withFileFailures } from './file-failure.js';

export async function createConfigCalls({ machine, session }: CallContext): Promise<CallGroup<MethodsOf<'environmentConfig'>>> {
  const shared = await machine.shared();
  return {
    calls: withFileFailures({
      'environmentConfig/read': async (params) => {
        const asked = [...params.configPaths, ...params.requirementsPaths];
        if (asked.length === 0) throw invalid('at least one config or requirements path is required');
        if (asked.some((path) => path.length === 0)) throw invalid('TOML paths must contain at least one key segment');
        return readEnvironmentConfig(params, { shared, env: session.surroundings.env });
      },
    }),
    flowCalls: {},
    end: () => {},
  };
}

function invalid(problem: string) {
  return execError('invalidParams', { problem });
}
