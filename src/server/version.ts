// The package version, read from package.json so that it is defined in one place.

import { readFileSync } from 'node:fs';

// oxlint-disable-next-line typescript/no-unsafe-assignment -- our own manifest
const manifest: { readonly version: string } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

export const { version } = manifest;
