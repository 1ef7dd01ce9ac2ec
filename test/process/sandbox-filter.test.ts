// Which system calls the filter denies to a sandboxed command, and that ordinary programs work without them.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { connectInProcess } from '#src/index.js';
import { compileFilter } from '#src/process/sandbox/seccomp.js';
import { findProgram } from '#src/process/start/spawn-failure.js';
import type { SandboxPolicy } from '#src/protocol/index.js';
import { guardAgainstLeaks } from '../support/leak-guard.js';
import {
  env,
  fullAccess,
  noSandbox,
  outcome,
  prepared,
  putProgram,
  readOnly,
  scratchFolders,
  shell,
  workspaceOnly,
} from '../support/sandboxed.js';
import { outputText } from '../support/output-text.js';

guardAgainstLeaks();

const folders = scratchFolders();
const online = { ...workspaceOnly, networkAccess: true };
const otherMachine = process.arch === 'x64' ? false : 'these system call numbers are for x64';

/** Makes each system call, with zeros for arguments that are not given, and prints the errno, 0 for none. */
async function errnos(calls: readonly (readonly number[])[], policy: SandboxPolicy): Promise<string> {
  const script =
    'for (@ARGV) { my @call = map { $_ + 0 } split /,/; $! = 0; syscall($call[0], map { $_ // 0 } @call[1..5]); print $! + 0, "\n" }';
  const command = { argv: ['perl', '-e', script, ...calls.map((call) => call.join(','))], cwd: folders.workspace };
  return (await outcome(command, policy)).replaceAll('\n', ' ');
}

const denied: Readonly<Record<string, readonly number[]>> = {
  ptrace: [101, 9999],
  process_vm_readv: [310],
  process_vm_writev: [311],
  io_uring_setup: [425],
  io_uring_enter: [426, -1],
  io_uring_register: [427, -1],
  add_key: [248],
  request_key: [249],
  keyctl: [250, 9999],
  pidfd_getfd: [438, -1],
  bpf: [321, 9999],
  perf_event_open: [298],
  userfaultfd: [323, 9999],
  'unshare of the user namespace': [272, 0x1000_0000],
  'clone with a new user namespace': [56, 0x1000_0000],
  'ioctl TIOCSTI': [16, 0, 0x5412],
  'ioctl TIOCLINUX': [16, 0, 0x541c],
};

describe('the filter', { skip: noSandbox }, () => {
  test(
    'denies calls that access other processes or keys, or that expose the kernel unnecessarily',
    { skip: otherMachine },
    async () => {
      const calls = Object.values(denied);
      const all = calls.map(() => '1').join(' ');
      for (const policy of [readOnly, workspaceOnly, online]) assert.equal(await errnos(calls, policy), `exit 0: ${all}`);
    },
  );

  test('is the cause: without it these calls are not denied', { skip: otherMachine }, async () => {
    const calls = ['process_vm_readv', 'process_vm_writev', 'add_key', 'request_key', 'keyctl', 'pidfd_getfd'];
    const outside = await errnos(
      calls.map((name) => denied[name] ?? []),
      fullAccess,
    );
    assert.match(outside, /^exit 0: /);
    assert.doesNotMatch(outside.slice('exit 0: '.length), /\b1\b/);
  });

  test('makes programs fall back to clone, because it cannot inspect the flags of clone3', { skip: otherMachine }, async () => {
    assert.equal(await errnos([[435]], readOnly), 'exit 0: 38'); // clone3: ENOSYS
  });

  test('keeps the session keyring from being read', { skip: otherMachine }, async () => {
    const script = 'my $id = syscall(250, 0, -3, 0); print $id == -1 ? "denied" : "read"'; // KEYCTL_GET_KEYRING_ID of the session keyring
    const command = { argv: ['perl', '-e', script] };
    assert.deepEqual(
      [await outcome(command, fullAccess), await outcome(command, readOnly), await outcome(command, online)],
      ['exit 0: read', 'exit 0: denied', 'exit 0: denied'],
    );
    assert.equal(await outcome(shell('cat /proc/keys 2>/dev/null; true'), readOnly), 'exit 0: ');
  });

  test('kills a program that uses the system calls of another architecture', { skip: otherMachine }, async () => {
    // mov eax, 20; int 0x80 (getpid of i386); mov eax, 60; xor edi, edi; syscall (exit of x64)
    const code = Buffer.from('b814000000cd80b83c00000031ff0f05', 'hex');
    const program = join(folders.workspace, 'other');
    putProgram(program, tinyProgram(code));
    const outside = await outcome({ argv: [program] }, fullAccess);
    // A kernel without those calls kills it anyway.
    assert.equal(await outcome({ argv: [program] }, readOnly), outside === 'exit 0: ' ? 'exit 159: ' : outside);
    assert.equal(await errnos([[0x4000_0000 + 39]], readOnly), 'exit 159: '); // getpid of x32
  });

  test('denies every Unix socket without a network, except pairs that can only reach each other', async () => {
    const script = `use Socket; use constant { VSOCK => 40, SEQPACKET => 5 };
      sub say_ { my ($what, $is) = @_; print "$what ", ($is ? "made" : $!{EPERM} ? "denied" : "failed"), "\\n" }
      use Errno;
      say_("stream", socket(my $a, AF_UNIX, SOCK_STREAM, 0)); say_("datagram", socket(my $b, AF_UNIX, SOCK_DGRAM, 0));
      say_("stream pair", socketpair(my $c, my $d, AF_UNIX, SOCK_STREAM, 0));
      say_("packet pair", socketpair(my $e, my $f, AF_UNIX, SEQPACKET, 0));
      say_("datagram pair", socketpair(my $g, my $h, AF_UNIX, SOCK_DGRAM, 0));
      say_("raw pair", socketpair(my $i, my $j, AF_UNIX, SOCK_RAW, 0));
      say_("internet", socket(my $k, AF_INET, SOCK_STREAM, 0));`;
    const answers = async (policy: SandboxPolicy) =>
      (await outcome({ argv: ['perl', '-e', script] }, policy)).replaceAll('\n', ', ');
    const offline =
      'exit 0: stream denied, datagram denied, stream pair made, packet pair made, datagram pair denied, raw pair denied, internet made';
    assert.equal(await answers(readOnly), offline);
    assert.equal(await answers(workspaceOnly), offline);
    assert.equal(await answers(online), offline.replaceAll('denied', 'made'));
  });

  test('denies sockets that a network namespace does not isolate, unless there is a network', async () => {
    const script = 'use Errno; socket(my $s, 40, 1, 0); print $!{EPERM} ? "denied" : "not denied"'; // AF_VSOCK
    const command = { argv: ['perl', '-e', script] };
    assert.deepEqual(
      [await outcome(command, readOnly), await outcome(command, fullAccess)],
      ['exit 0: denied', 'exit 0: not denied'],
    );
  });

  test('cannot be omitted: without it the command does not run', async () => {
    const { fd3, ...spec } = await prepared(shell('echo ran'), readOnly);
    assert.equal(fd3 instanceof Uint8Array, true);
    await using client = connectInProcess();
    for (const given of [undefined, new Uint8Array(), new Uint8Array(8)]) {
      await using child = await client.start({ prepared: { ...spec, fd3: given } });
      assert.match(await outputText(child), /^bwrap: /);
      const ending = await child.closed;
      assert.deepEqual([ending.kind, ending.kind === 'code' && ending.code], ['code', 1]);
    }
  });

  test('also applies to programs that a command starts', { skip: otherMachine }, async () => {
    const command = shell(`setsid sh -c 'exec perl -e "syscall(101, 9999); print \\$!+0"' | cat`);
    assert.equal(await outcome(command, readOnly), 'exit 0: 1');
  });
});

describe('ordinary programs keep working:', { skip: noSandbox }, () => {
  const command = { cwd: '', env: { ...env, HOME: '/nonexistent' } };
  const inWorkspace = (argv: readonly string[]) => outcome({ ...command, cwd: folders.workspace, argv }, workspaceOnly);

  test('node with children, messages, workers and its own server', async () => {
    const script = `const { fork, execFileSync } = require('node:child_process');
      const { Worker } = require('node:worker_threads');
      const net = require('node:net');
      if (process.send) { process.send('child'); process.disconnect(); return; }
      console.log(execFileSync('echo', ['program'], { encoding: 'utf8' }).trim());
      fork(__filename).on('message', (message) => { console.log(message);
        new Worker("require('node:worker_threads').parentPort.postMessage('worker')", { eval: true }).on('message', (word) => { console.log(word);
          const server = net.createServer((socket) => socket.end('served')).listen(0, '127.0.0.1', () =>
            net.connect(server.address().port, '127.0.0.1').on('data', (text) => { console.log(String(text)); server.close(); })); }); });`;
    const file = putProgram(join(folders.workspace, 'script.cjs'), script);
    assert.equal(await inWorkspace([process.execPath, file]), 'exit 0: program\nchild\nworker\nserved');
  });

  test('python with children, threads and pools', { skip: missing('python3') }, async () => {
    const script = `
import multiprocessing, subprocess, threading, asyncio
def double(n): return 2 * n
async def main():
    child = await asyncio.create_subprocess_exec('echo', 'async', stdout=subprocess.PIPE)
    return (await child.communicate())[0].decode().strip()
if __name__ == '__main__':
    print(subprocess.run(['echo', 'program'], capture_output=True, text=True).stdout.strip())
    thread = threading.Thread(target=lambda: print('thread')); thread.start(); thread.join()
    with multiprocessing.Pool(2) as pool: print(pool.map(double, [1, 2]))
    print(asyncio.run(main()))
`;
    const file = putProgram(join(folders.workspace, 'script.py'), script);
    assert.equal(await inWorkspace(['python3', file]), 'exit 0: program\nthread\n[2, 4]\nasync');
  });

  test('git', { skip: missing('git') }, async () => {
    const script = `git init -q sub && cd sub && git config user.email a@b && git config user.name a && echo x > file &&
      git add file && git commit -q -m one && git gc -q && git clone -q . ../copy && git -C ../copy log --format=%s && git status --short`;
    assert.equal(await inWorkspace(shell(script).argv), 'exit 0: one');
  });
});

describe('an architecture whose system calls are not known', () => {
  test('gets no filter, and so no sandbox', () => {
    assert.deepEqual([compileFilter('s390x', 'none'), compileFilter('ia32', 'shared')], [undefined, undefined]);
    for (const machine of ['x64', 'arm64']) {
      for (const network of ['none', 'shared'] as const) {
        const bytes = compileFilter(machine, network)?.length ?? 0;
        assert.equal(bytes > 0 && bytes % 8 === 0 && bytes <= 4096, true, `${machine} ${network}: ${bytes} bytes`);
      }
    }
  });
});

function missing(program: string): string | false {
  try {
    findProgram(program, '/', env['PATH']);
    return false;
  } catch {
    return `${program} is not installed`;
  }
}

/** A static x64 ELF file that consists of this code. */
function tinyProgram(code: Uint8Array): Buffer {
  const [at, headers] = [0x40_0000n, 64 + 56];
  const file = Buffer.alloc(headers + code.length);
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  file.writeUInt16LE(2, 16); // type: executable
  file.writeUInt16LE(62, 18); // machine: x86-64
  file.writeUInt32LE(1, 20);
  file.writeBigUInt64LE(at + BigInt(headers), 24); // entry point: right after the headers
  file.writeBigUInt64LE(64n, 32); // offset of the only program header
  file.writeUInt16LE(64, 52);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(1, 56);
  file.writeUInt32LE(1, 64); // segment type: load
  file.writeUInt32LE(5, 68); // segment flags: read and execute
  file.writeBigUInt64LE(at, 80);
  file.writeBigUInt64LE(at, 88);
  file.writeBigUInt64LE(BigInt(file.length), 96);
  file.writeBigUInt64LE(BigInt(file.length), 104);
  file.writeBigUInt64LE(0x1000n, 112);
  file.set(code, headers);
  return file;
}
