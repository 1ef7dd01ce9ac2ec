// A rename that replaces nothing: renameat2, through koffi. Where it is not to be had, the name is looked up first, and a file that
// appears between the two calls is replaced.

import { promises as fs } from 'node:fs';
import { getSystemErrorMap } from 'node:util';
import { loadKoffi } from '../native/koffi.js';
import { bytesOf, type NativePath } from './native-path.js';

/** Fails with EEXIST when there is something at `to`. */
export async function renameExclusively(from: NativePath, to: NativePath): Promise<void> {
  const errno = await rename(from, to);
  if (errno === 0) return;
  const problem = systemProblem(errno);
  if (problem !== undefined && problem.code !== 'ENOSYS' && problem.code !== 'EINVAL') throw problem;
  if (await exists(to)) throw systemProblem(EEXIST) ?? new Error('the name exists');
  await fs.rename(from, to);
}

/** An error like those of Node; undefined when the number is none of the system's. */
function systemProblem(errno: number): (Error & { readonly code: string }) | undefined {
  const known = getSystemErrorMap().get(-errno);
  if (known === undefined) return undefined;
  const [code, text] = known;
  return Object.assign(new Error(`${code}: ${text}, rename`), { code, errno: -errno });
}

async function exists(path: NativePath): Promise<boolean> {
  return fs.lstat(path).then(
    () => true,
    () => false,
  );
}

type Rename = (from: NativePath, to: NativePath) => Promise<number>;

/** Resolves with the errno, 0 for success. Binding takes longer than a call, so it is done once. */
const rename: Rename = async (from, to) => (binding ??= bind())(from, to);
let binding: Rename | undefined;

// fcntl.h, linux/fs.h, errno.h
const AT_FDCWD = -100;
const RENAME_NOREPLACE = 1;
const ENOSYS = 38;
const EEXIST = 17;

function bind(): Rename {
  const koffi = process.platform === 'linux' ? loadKoffi() : undefined;
  if (koffi === undefined) return async () => Promise.resolve(ENOSYS);
  try {
    const call = koffi
      .load(null)
      .func('int renameat2(int fromFolder, const uint8_t *from, int toFolder, const uint8_t *to, unsigned int flags)');
    return async (from, to) =>
      new Promise((resolve) => {
        const [source, target] = [from, to].map((path) => Buffer.concat([bytesOf(path), Buffer.of(0)]));
        call.async(AT_FDCWD, source, AT_FDCWD, target, RENAME_NOREPLACE, (error: unknown, result: unknown) => {
          resolve(error === null && Number(result) === 0 ? 0 : koffi.errno());
        });
      });
  } catch {
    return async () => Promise.resolve(ENOSYS); // a C library without the function
  }
}
