// Schemas of Codex's sandbox context: the rights under which its client wants a file operation to be carried out. The names inside
// `permissions` are in snake case, as on Codex's wire.

import * as v from 'valibot';
import { limit } from './ids.js';
import { optionalMembers } from './map.js';

const uri = v.string();
const subpath = v.nullish(v.string());
const network = v.picklist(['restricted', 'enabled']);

const specialPath = v.variant('kind', [
  v.object({ kind: v.literal('root') }),
  v.object({ kind: v.literal('minimal') }),
  v.object({ kind: v.literal('current_working_directory'), subpath }),
  v.object({ kind: v.literal('project_roots'), subpath }),
  v.object({ kind: v.literal('tmpdir') }),
  v.object({ kind: v.literal('slash_tmp') }),
  v.object({ kind: v.literal('unknown'), path: v.string(), subpath }),
]);

const entry = v.object({
  path: v.variant('type', [
    v.object({ type: v.literal('path'), path: uri }),
    v.object({ type: v.literal('glob_pattern'), pattern: v.string() }),
    v.object({ type: v.literal('special'), value: specialPath }),
  ]),
  access: v.picklist(['read', 'write', 'deny', 'none']),
  missing_path_behavior: v.nullish(v.picklist(['skip'])),
});

const fileSystem = v.variant('type', [
  v.object({ type: v.literal('unrestricted') }),
  v.object({ type: v.literal('restricted'), entries: v.array(entry), glob_scan_max_depth: v.nullish(limit) }),
]);

const permissions = v.variant('type', [
  v.object({ type: v.literal('disabled') }),
  v.object({ type: v.literal('external'), network }),
  v.object({ type: v.literal('managed'), file_system: fileSystem, network }),
]);

export const sandboxContext = v.object({
  permissions,
  sandboxOverride: v.optional(v.picklist(['noOverride', 'escalatedSandboxWithRestrictions', 'bypassSandboxFirstAttempt'])),
  policyContext: v.nullish(optionalMembers({ cwd: v.nullish(uri), workspaceRoots: v.nullish(v.array(uri)) })),
  cwd: v.nullish(uri),
  workspaceRoots: v.nullish(v.array(uri)),
  userHomeDir: v.nullish(uri),
  temporaryDirectories: v.nullish(v.array(uri)),
  windowsSandboxLevel: v.picklist(['disabled', 'restricted-token', 'elevated', 'mxc']),
  windowsSandboxProxySettingsMode: v.nullish(v.picklist(['reconcile', 'preserve'])),
  useLegacyLandlock: v.nullish(v.boolean()),
});
export type SandboxContext = v.InferOutput<typeof sandboxContext>;
