// The package version, read from package.json so that it is defined in one place.

import { createRequire } from 'node:module';

// oxlint-disable-next-line typescript/no-unsafe-assignment -- createRequire is untyped
const manifest: { readonly version: string } = createRequire(import.meta.url)('../../package.json');

export const { version } = manifest;
