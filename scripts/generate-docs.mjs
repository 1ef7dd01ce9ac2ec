// Writes docs/protocol.md from the built protocol; with --print, to stdout instead.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { protocolPage } from './protocol-page.mjs';
import { root } from './tool.mjs';

if (process.argv.includes('--print')) process.stdout.write(protocolPage());
else writeFileSync(path.join(root, 'docs', 'protocol.md'), protocolPage());
