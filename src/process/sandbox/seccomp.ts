// Compiles the list of denied system calls to the filter that the kernel runs before each call. Knows the kernel's numbers, but not how
// the filter is passed to the kernel.

/** Kernel numbers by Node's name for the architecture. */
const machines = {
  x64: {
    audit: 0xc000_003e,
    // This bit in a call number selects the x32 table, which has the same calls under other numbers.
    otherTables: 0x4000_0000,
    calls: {
      ...{ ptrace: 101, process_vm_readv: 310, process_vm_writev: 311, pidfd_getfd: 438 },
      ...{ io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427 },
      ...{ add_key: 248, request_key: 249, keyctl: 250 },
      ...{ bpf: 321, perf_event_open: 298, userfaultfd: 323 },
      ...{ unshare: 272, clone: 56, clone3: 435, ioctl: 16, socket: 41, socketpair: 53 },
    },
  },
  arm64: {
    audit: 0xc000_00b7,
    otherTables: undefined,
    calls: {
      ...{ ptrace: 117, process_vm_readv: 270, process_vm_writev: 271, pidfd_getfd: 438 },
      ...{ io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427 },
      ...{ add_key: 217, request_key: 218, keyctl: 219 },
      ...{ bpf: 280, perf_event_open: 241, userfaultfd: 282 },
      ...{ unshare: 97, clone: 220, clone3: 435, ioctl: 29, socket: 198, socketpair: 199 },
    },
  },
} as const;

/**
 * Always denied: reading and controlling other processes; the keyring of the user's session; io_uring, whose operations no filter sees;
 * and parts of the kernel that are only useful for attacking or debugging it.
 */
const alwaysDenied = [
  ...(['ptrace', 'process_vm_readv', 'process_vm_writev', 'pidfd_getfd'] as const),
  ...(['io_uring_setup', 'io_uring_enter', 'io_uring_register'] as const),
  ...(['add_key', 'request_key', 'keyctl'] as const),
  ...(['bpf', 'perf_event_open', 'userfaultfd'] as const),
];

const CLONE_NEWUSER = 0x1000_0000;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const SOCK_STREAM = 1;
const SOCK_SEQPACKET = 5;
/** The other bits of a socket's type are flags. */
const socketTypeMask = 0xf;

/** struct sock_filter of linux/filter.h. */
interface Instruction {
  readonly code: number;
  readonly k: number;
  /** Instructions to skip when a comparison holds, and when it does not. */
  readonly jumps?: readonly [number, number];
}

const load = (offset: number): Instruction => ({ code: 0x20, k: offset });
const mask = (bits: number): Instruction => ({ code: 0x54, k: bits });
const ifEqual = (value: number, jumps: readonly [number, number]): Instruction => ({ code: 0x15, k: value, jumps });
const ifAtLeast = (value: number, jumps: readonly [number, number]): Instruction => ({ code: 0x35, k: value, jumps });
const answer = (action: number): Instruction => ({ code: 0x06, k: action });

const allow = answer(0x7fff_0000);
const kill = answer(0x8000_0000);
const errno = (number: number): Instruction => answer(0x0005_0000 | number);
const deny = errno(1); // EPERM
const missing = errno(38); // ENOSYS

/** Offsets in struct seccomp_data. Of the arguments compared here, the kernel uses only the lower half. */
const callNumber = load(0);
const architecture = load(4);
const argument = (index: number): Instruction => load(16 + 8 * index);

/**
 * The filter in bubblewrap's format; at most 4 KiB. Without a network, Unix sockets are denied too, because folders cannot be hidden
 * from a command before they exist: connecting and sending need a socket, so denying its creation is enough. Socket pairs are allowed,
 * since they stay connected to each other, except datagram pairs, which can send to any path. Undefined for an unknown architecture.
 */
export function compileFilter(machine: string, network: 'none' | 'shared'): Uint8Array | undefined {
  if (machine !== 'x64' && machine !== 'arm64') return undefined;
  const { audit, otherTables, calls } = machines[machine];
  return assembled([
    architecture,
    ifEqual(audit, [1, 0]),
    kill,
    callNumber,
    ...(otherTables === undefined ? [] : [ifAtLeast(otherTables, [0, 1]), kill]),
    ...alwaysDenied.flatMap((name) => on(calls[name], [deny])),
    // A new user namespace grants capabilities inside it, which expose most of the kernel.
    ...on(calls.unshare, isOneOf([argument(0), mask(CLONE_NEWUSER)], [CLONE_NEWUSER], [deny, allow])),
    ...on(calls.clone, isOneOf([argument(0), mask(CLONE_NEWUSER)], [CLONE_NEWUSER], [deny, allow])),
    // The flags of clone3 are in memory that a filter cannot read. On ENOSYS, C libraries fall back to clone.
    ...on(calls.clone3, [missing]),
    // These push input into the terminal, which may be shared with a program outside.
    ...on(calls.ioctl, isOneOf([argument(1)], [TIOCSTI, TIOCLINUX], [deny, allow])),
    ...(network === 'none'
      ? [
          // Only families that the network namespace isolates: AF_VSOCK, for example, would reach the host of a virtual machine.
          ...on(calls.socket, isOneOf([argument(0)], [AF_INET, AF_INET6, AF_NETLINK], [allow, deny])),
          ...on(calls.socketpair, [
            ...[argument(0), ifEqual(AF_UNIX, [1, 0]), deny],
            ...isOneOf([argument(1), mask(socketTypeMask)], [SOCK_STREAM, SOCK_SEQPACKET], [allow, deny]),
          ]),
        ]
      : []),
    allow,
  ]);
}

/** Runs `body` for this call. It may overwrite the loaded call number, because it always ends with an answer. */
function on(call: number, body: readonly Instruction[]): Instruction[] {
  return [ifEqual(call, [0, body.length]), ...body];
}

function isOneOf(
  value: readonly Instruction[],
  candidates: readonly number[],
  [yes, no]: readonly [Instruction, Instruction],
): Instruction[] {
  return [...value, ...candidates.map((each, index) => ifEqual(each, [candidates.length - index, 0])), no, yes];
}

/** Both architectures are little-endian. */
function assembled(instructions: readonly Instruction[]): Uint8Array {
  const bytes = Buffer.alloc(instructions.length * 8);
  for (const [index, { code, k, jumps: [yes, no] = [0, 0] }] of instructions.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(yes, index * 8 + 2);
    bytes.writeUInt8(no, index * 8 + 3);
    bytes.writeUInt32LE(k >>> 0, index * 8 + 4);
  }
  return bytes;
}
