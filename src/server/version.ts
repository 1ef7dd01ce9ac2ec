// The package's version, read where npm keeps it so that there is one place to change.

import { createRequire } from 'node:module';

// oxlint-disable-next-line typescript/no-unsafe-assignment -- createRequire is untyped
const manifest: { readonly version: string } = createRequire(import.meta.url)('../../package.json');

export const { version } = manifest;
