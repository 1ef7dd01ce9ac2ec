// The part of the method table with which Codex's client finds configuration, plugins and skills on the server's machine.

import * as v from 'valibot';
import { mapOf } from './map.js';
import { sandboxContext } from './sandbox-context.js';

const uri = v.pipe(v.string(), v.description('file: URI'));
const keyPaths = v.array(v.array(v.string()));
const textFile = v.object({ path: uri, contents: v.string() });
const skillFiles = v.object({ instructions: textFile, metadata: v.nullable(textFile) });

const layers = v.object({
  layers: v.array(v.object({ source: mapOf(v.unknown()), baseDir: v.nullable(uri), toml: v.string() })),
  cloudInsertionIndex: v.number(),
});

export const discoveryRequests = {
  'environmentConfig/read': {
    family: 'discovery',
    summary: 'Returns the parts of Codex’s configuration files on this machine that are asked for, lowest layer first.',
    params: v.object({ cwd: uri, configPaths: keyPaths, requirementsPaths: keyPaths }),
    result: v.object({
      userHomeDir: v.nullable(uri),
      codexHomeDir: v.nullable(uri),
      hostname: v.nullable(v.string()),
      config: layers,
      requirements: layers,
    }),
  },
  'capabilityRoots/discoverV1': {
    family: 'discovery',
    summary: 'Returns the plugins and skills below each of at most 128 folders.',
    params: v.object({ roots: v.array(v.object({ id: v.string(), path: uri, sandbox: v.nullish(sandboxContext) })) }),
    result: v.object({
      roots: v.array(
        v.object({
          id: v.string(),
          path: uri,
          plugin: v.nullable(v.object({ manifest: textFile, mcp: v.nullable(textFile) })),
          skills: v.array(skillFiles),
          namespaceManifests: v.array(textFile),
          warnings: v.array(v.string()),
          error: v.nullable(v.string()),
        }),
      ),
    }),
  },
  'capabilities/discoverV2': {
    family: 'discovery',
    summary: 'Returns the plugins and skills that a user of this machine has in a folder.',
    params: v.object({ cwd: uri, sandbox: v.nullish(sandboxContext) }),
    result: v.object({
      plugins: v.array(mapOf(v.unknown())),
      skills: v.array(mapOf(v.unknown())),
      warnings: v.array(v.string()),
    }),
  },
} as const;
