// The reason to skip tests that need more descriptors than this machine allows.

import { execFileSync } from 'node:child_process';

/** Why tests that need this many descriptors are skipped; false if the machine allows them. */
export function fewerThan(descriptors: number): string | false {
  const hard = execFileSync('/bin/sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).trim();
  return hard !== 'unlimited' && Number(hard) < descriptors && `needs ${descriptors} descriptors, and ulimit -n allows ${hard}`;
}
