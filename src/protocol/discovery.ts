// The part of the method table with which Codex's client finds configuration, plugins and skills on the server's machine.

import * as v from 'valibot';
import { sandboxContext } from './sandbox-context.js';

const uri = v.pipe(v.string(), v.description('file: URI'));
const keyPaths = v.array(v.array(v.string()));
const textFile = v.object({ path: uri, contents: v.string() });
const pluginFiles = v.object({ manifest: textFile, mcpConfig: v.nullable(textFile), appsConfig: v.nullable(textFile) });
const optionalText = v.nullable(v.string());

const skill = v.object({
  name: v.pipe(v.string(), v.description('With the name of its plugin, if it has one: plugin:skill')),
  description: v.string(),
  shortDescription: optionalText,
  path: uri,
  dependencies: v.nullable(
    v.object({
      tools: v.array(
        v.object({
          type: v.string(),
          value: v.string(),
          description: optionalText,
          transport: optionalText,
          command: optionalText,
          url: optionalText,
          oauthCallbackPort: v.nullable(v.number()),
        }),
      ),
    }),
  ),
  policy: v.nullable(v.object({ allowImplicitInvocation: v.nullable(v.boolean()), products: v.array(v.string()) })),
});

const layers = v.object({
  layers: v.array(
    v.object({
      source: v.pipe(v.string(), v.description('Kind and path of the file')),
      baseDir: v.pipe(uri, v.description('What relative paths in the layer start from')),
      toml: v.string(),
    }),
  ),
  cloudInsertionIndex: v.pipe(v.number(), v.description('Where layers that the client has from elsewhere belong')),
});

export const discoveryRequests = {
  'environmentConfig/read': {
    family: 'discovery',
    summary: 'Returns the parts of Codex’s configuration files on this machine that are asked for, lowest layer first.',
    params: v.object({ cwd: uri, configPaths: keyPaths, requirementsPaths: keyPaths }),
    result: v.object({
      userHomeDir: uri,
      codexHomeDir: uri,
      hostname: v.string(),
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
          plugin: v.nullable(pluginFiles),
          skills: v.array(v.object({ instructions: textFile, metadata: v.nullable(textFile) })),
          namespaceManifests: v.array(textFile),
          warnings: v.array(v.string()),
          error: v.nullable(v.string()),
        }),
      ),
    }),
  },
  'capabilities/discoverV2': {
    family: 'discovery',
    summary: 'Returns the plugins and skills that the user of this machine has installed for Codex.',
    params: v.object({ cwd: uri, sandbox: v.nullish(sandboxContext) }),
    result: v.object({
      plugins: v.array(
        v.object({
          id: v.pipe(v.string(), v.description('name@marketplace')),
          displayName: v.string(),
          remotePluginId: optionalText,
          version: v.string(),
          root: uri,
          files: pluginFiles,
          skills: v.array(skill),
        }),
      ),
      skills: v.array(v.object({ ...skill.entries, discoveryRoot: v.object({ id: v.string(), path: uri }) })),
      warnings: v.array(v.string()),
    }),
  },
} as const;
