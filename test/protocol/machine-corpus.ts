// The part of the corpus about the server's machine: files, flows, ports, HTTP and discovery.

import type * as v from 'valibot';
import type { requests } from '#src/protocol/methods.js';
import type { Valid } from './valid-messages.js';

const path = '/home/user/a.txt';
const uri = 'file:///home/user/a.txt';
const folder = 'file:///home/user';
const sha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

const status: v.InferInput<(typeof requests)['files/stat']['result']> = {
  path,
  kind: 'file',
  size: 6,
  modifiedAtMs: 1.5,
  permissions: 0o644,
  uid: 0,
  gid: 0,
  inode: '1:2',
};
const link: typeof status = { ...status, kind: 'symlink', createdAtMs: 1, target: 'b.txt' };
const entry = { name: 'a.txt', path, kind: 'file', size: 6, modifiedAtMs: 1, permissions: 0o644 } as const;
const linkEntry = { ...entry, kind: 'symlink', target: 'b.txt' } as const;
const tree = { files: 1, folders: 0, links: 0, bytes: 6, sha256, skipped: [], skippedCount: 0 };
const skipped = { ...tree, skipped: [{ path: 'fifo', problem: 'a named pipe' }], skippedCount: 1 };
const file = { path: uri, contents: '---\n' };
const pluginFiles = { manifest: file, mcpConfig: null, appsConfig: null };
const tool = { type: 'mcp', value: 'x', description: 'd', transport: 't', command: 'c', url: 'u', oauthCallbackPort: 80 };
const bareTool = { ...tool, description: null, transport: null, command: null, url: null, oauthCallbackPort: null };
const skill = {
  name: 'one',
  description: 'd',
  shortDescription: null,
  path: uri,
  dependencies: { tools: [tool, bareTool] },
  policy: { allowImplicitInvocation: null, products: ['codex'] },
};
const layers = {
  layers: [{ source: 'user (/home/user/.codex/config.toml)', baseDir: folder, toml: '' }],
  cloudInsertionIndex: 1,
};

const special = (value: { kind: 'root' | 'minimal' | 'tmpdir' | 'slash_tmp' }) =>
  ({ path: { type: 'special', value }, access: 'read' }) as const;
const sandbox: v.InferInput<(typeof requests)['fs/readDirectory']['params']>['sandbox'] = {
  permissions: {
    type: 'managed',
    file_system: {
      type: 'restricted',
      entries: [
        special({ kind: 'root' }),
        special({ kind: 'minimal' }),
        special({ kind: 'tmpdir' }),
        special({ kind: 'slash_tmp' }),
        {
          path: { type: 'special', value: { kind: 'project_roots', subpath: '.git' } },
          access: 'read',
          missing_path_behavior: 'skip',
        },
        { path: { type: 'special', value: { kind: 'current_working_directory' } }, access: 'write' },
        { path: { type: 'special', value: { kind: 'unknown', path: 'x', subpath: null } }, access: 'none' },
        { path: { type: 'path', path: uri }, access: 'deny' },
        { path: { type: 'glob_pattern', pattern: '**/*.key' }, access: 'deny' },
      ],
      glob_scan_max_depth: 3,
    },
    network: 'restricted',
  },
  sandboxOverride: 'noOverride',
  policyContext: { cwd: folder, workspaceRoots: [folder] },
  cwd: folder,
  workspaceRoots: [folder],
  userHomeDir: folder,
  temporaryDirectories: [],
  windowsSandboxLevel: 'disabled',
  windowsSandboxProxySettingsMode: 'reconcile',
  useLegacyLandlock: false,
};
const external: typeof sandbox = { permissions: { type: 'external', network: 'enabled' }, windowsSandboxLevel: 'disabled' };
const disabled: typeof sandbox = { permissions: { type: 'disabled' }, windowsSandboxLevel: 'mxc', policyContext: {} };
const walkOptions = { maxDepth: 6, maxDirectories: 2_000, maxEntries: 20_000, followDirectorySymlinks: true };

type Word = 'fs' | 'files' | 'flow' | 'http' | 'ports' | 'environmentConfig' | 'capabilityRoots' | 'capabilities';

export const machineMessages: Pick<Valid, Extract<keyof Valid, `${Word}/${string}`>> = {
  'fs/readFile params': [{ path: uri }, { path: uri, sandbox, followSymlinks: false }],
  'fs/readFile result': [{ dataBase64: 'aGkK' }],
  'fs/writeFile params': [
    { path: uri, dataBase64: '***' },
    { path: uri, dataBase64: '', sandbox: external, followSymlinks: null },
  ],
  'fs/writeFile result': [{}],
  'fs/createDirectory params': [{ path: uri }, { path: uri, recursive: false, sandbox: disabled, followSymlinks: true }],
  'fs/createDirectory result': [{}],
  'fs/getMetadata params': [{ path: uri }, { path: uri, sandbox: null, followSymlinks: false }],
  'fs/getMetadata result': [{ isDirectory: false, isFile: true, isSymlink: false, size: 6, createdAtMs: 0, modifiedAtMs: 1 }],
  'fs/canonicalize params': [{ path: uri, sandbox }],
  'fs/canonicalize result': [{ path: uri }],
  'fs/readDirectory params': [{ path: uri, sandbox }],
  'fs/readDirectory result': [{ entries: [] }, { entries: [{ fileName: 'a', isDirectory: false, isFile: false }] }],
  'fs/walk params': [
    { path: uri, options: walkOptions },
    { path: uri, options: { ...walkOptions, pruneHiddenDirectories: true }, sandbox },
  ],
  'fs/walk result': [{ entries: [{ path: uri, kind: 'file' }], errors: [{ path: uri, message: 'EACCES' }], truncated: false }],
  'fs/remove params': [{ path: uri }, { path: uri, recursive: false, force: false, followSymlinks: false, sandbox }],
  'fs/remove result': [{}],
  'fs/copy params': [{ sourcePath: uri, destinationPath: uri, recursive: true, sandbox }],
  'fs/copy result': [{}],
  'fs/open params': [
    { handleId: '', path: uri },
    { handleId: 'h', path: uri, mode: 'replace', sandbox },
  ],
  'fs/open result': [{ handleId: 'h' }],
  'fs/readBlock params': [{ handleId: 'h', offset: 0, len: 1 }],
  'fs/readBlock result': [{ chunk: '', eof: true }],
  'fs/writeBlock params': [{ handleId: 'h', offset: 0, chunk: 'eA==' }],
  'fs/writeBlock result': [{}],
  'fs/close params': [{ handleId: 'h' }],
  'fs/close result': [{}],
  'fs/watchMissing params': [
    { watchId: 1, missing: [uri], present: null },
    { watchId: 0, missing: [], present: uri },
  ],
  'fs/watchMissing result': [{ watching: true }],
  'fs/missingChanged params': [{ watchId: 1 }],
  'files/stat params': [{ path }, { path: uri, followSymlinks: false }],
  'files/stat result': [status, link],
  'files/list params': [{ path }, { path, after: 'b', limit: 10 }],
  'files/list result': [{ entries: [] }, { entries: [entry, linkEntry], next: 'l' }],
  'files/walk params': [{ path }, { path, after: 'b/c', limit: 10, maxDepth: 0 }],
  'files/walk result': [
    { entries: [], errors: [] },
    { entries: [{ ...entry, relativePath: 'a.txt' }], errors: [{ path: 'b', problem: 'EACCES' }], next: 'a.txt' },
  ],
  'files/read params': [
    { flowId: 1, path },
    { flowId: 2, path, offset: 0, length: 5 },
  ],
  'files/read result': [{ status }, { status, length: 6 }],
  'files/write params': [
    { flowId: 1, path },
    { flowId: 1, path, mode: 'append', permissions: 0o600, createParents: true, expected: 'absent' },
    { flowId: 1, path, mode: null, permissions: null, createParents: null, expected: { size: 1, modifiedAtMs: 2, inode: '1:2' } },
  ],
  'files/write result': [{ status, bytes: 6, how: 'renamed', sha256 }],
  'files/copy params': [
    { from: path, to: path },
    { from: path, to: uri, recursive: true, overwrite: false },
  ],
  'files/copy result': [{}],
  'files/move params': [
    { from: path, to: path },
    { from: path, to: uri, overwrite: false },
  ],
  'files/move result': [{ how: 'copied' }],
  'files/remove params': [{ path }, { path, recursive: true, force: true }],
  'files/remove result': [{ removed: false }],
  'files/makeDirectory params': [{ path }, { path, recursive: false, permissions: 0o700 }],
  'files/makeDirectory result': [{}],
  'files/makeTemporary params': [{ kind: 'file' }, { kind: 'directory', prefix: 'job-', parent: path }],
  'files/makeTemporary result': [{ path }],
  'files/download params': [
    { flowId: 1, path },
    { flowId: 1, path, exclude: ['*.o'], only: ['a/b'] },
  ],
  'files/download result': [tree, skipped],
  'files/upload params': [{ flowId: 1, path }],
  'files/upload result': [tree],
  'files/digest params': [{ path }, { path, after: 'a', limit: 1 }],
  'files/digest result': [
    { entries: [{ relativePath: 'a', kind: 'file', size: 1, modifiedAtMs: 2, permissions: 0o644, sha256 }], next: 'a' },
    { entries: [{ relativePath: 'l', kind: 'symlink', size: 1, modifiedAtMs: 2, permissions: 0o777, target: 'a' }] },
  ],
  'files/watch params': [
    { watchId: 1, path },
    { watchId: 2, path, recursive: true },
  ],
  'files/watch result': [{}],
  'files/unwatch params': [{ watchId: 1 }],
  'files/unwatch result': [{}],
  'files/changed params': [
    { watchId: 1, changes: [{ kind: 'created', path }] },
    { watchId: 1, changes: [{ kind: 'moved', path, from: path }], overflow: true, ended: 'it was removed' },
  ],
  'flow/data params': [{ flowId: 1, offset: 0, chunk: 'aGkK' }],
  'flow/ack params': [{ flowId: 1, offset: 3 }],
  'flow/end params': [{ flowId: 1, offset: 3 }],
  'flow/reset params': [{ flowId: 1, problem: 'the file shrank' }],
  'http/request params': [
    { method: 'GET', url: 'http://127.0.0.1/', requestId: 'r' },
    {
      method: 'POST',
      url: 'http://127.0.0.1/',
      headers: [{ name: 'a', value: 'b', valueEnvVar: 'NAME' }],
      bodyBase64: 'aGkK',
      timeoutMs: 5,
      redirectPolicy: 'stop',
      requestId: 'r',
      streamResponse: true,
    },
  ],
  'http/request result': [{ status: 200, headers: [{ name: 'a', value: 'b' }], bodyBase64: '' }],
  'http/request/bodyDelta params': [{ requestId: 'r', seq: 1, deltaBase64: 'aGkK', done: false, error: null }],
  'ports/list params': [{}, null],
  'ports/list result': [
    { ports: [{ port: 80, address: '127.0.0.1' }] },
    { ports: [{ port: 80, address: '::', pid: 7, processId: 'p1', sessionId: 's1' }] },
  ],
  'ports/watch params': [{}, null],
  'ports/watch result': [{ ports: [] }],
  'ports/unwatch params': [{}, null],
  'ports/unwatch result': [{}],
  'ports/open params': [
    { flowId: 1, port: 80 },
    { flowId: 1, port: null, host: 'localhost', path: '/run/x.sock' },
  ],
  'ports/open result': [{}],
  'ports/changed params': [{ opened: [{ port: 80, address: '127.0.0.1' }], closed: [] }],
  'environmentConfig/read params': [{ cwd: folder, configPaths: [['mcp_servers']], requirementsPaths: [] }],
  'environmentConfig/read result': [
    { userHomeDir: folder, codexHomeDir: folder, hostname: 'host', config: layers, requirements: layers },
  ],
  'capabilityRoots/discoverV1 params': [{ roots: [{ id: 'r', path: folder, sandbox }] }],
  'capabilityRoots/discoverV1 result': [
    {
      roots: [
        {
          id: 'r',
          path: folder,
          plugin: { manifest: file, mcpConfig: null, appsConfig: file },
          skills: [{ instructions: file, metadata: file }],
          namespaceManifests: [file],
          warnings: ['w'],
          error: null,
        },
      ],
    },
  ],
  'capabilities/discoverV2 params': [{ cwd: folder, sandbox }],
  'capabilities/discoverV2 result': [
    { plugins: [], skills: [], warnings: ['w'] },
    {
      plugins: [
        { id: 'a@b', displayName: 'A', remotePluginId: null, version: '1', root: folder, files: pluginFiles, skills: [skill] },
      ],
      skills: [{ ...skill, dependencies: null, policy: null, discoveryRoot: { id: 'r', path: folder } }],
      warnings: [],
    },
  ],
};
