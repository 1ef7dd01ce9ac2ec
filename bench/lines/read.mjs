// Repeatedly pages through output that the server has retained.

import { defineLine } from '../line.mjs';
import { megabyte } from './flood.mjs';

/** @import { Followed } from '../followed.mjs' */
/** @import { Values } from '../line.mjs' */
/** @import { Peer } from '../peer.mjs' */
/** @import { Stage } from '../stage.mjs' */

const pages = { page: { name: '64 KiB at a time', maxBytes: 64 * 1024 }, whole: { name: 'all at once', maxBytes: undefined } };

export const readLines = [
  defineLine({
    name: 'process/read of 1 MiB',
    sizes: { full: { passes: 150 }, quick: { passes: 5 } },
    metrics: {
      page: { name: pages.page.name, unit: 'MB/s', better: 'higher', atLeast: { ws: 1.5, stdio: 1.5 } },
      whole: { name: pages.whole.name, unit: 'MB/s', better: 'higher', atLeast: { ws: 2.5, stdio: 1.5 } },
    },
    async measure({ peer, stage, size }) {
      // The file is slightly smaller than the 1 MiB that both servers retain. The process stays, since both forget it 30 s after its end.
      const argv = ['sh', '-c', 'cat "$1"; exec sleep 3600', 'sh', stage.file];
      const child = peer.start({ argv, content: stage.content });
      await child.hasReceived(stage.fileBytes);
      /** @type {Values} */
      const values = {};
      for (const [key, { maxBytes }] of Object.entries(pages)) {
        await readAll(peer, child, { maxBytes, stage }); // one pass to warm up the compilers
        const startedAt = performance.now();
        for (let pass = 0; pass < size.passes; pass += 1) await readAll(peer, child, { maxBytes, stage });
        values[key] = (size.passes * stage.fileBytes) / megabyte / ((performance.now() - startedAt) / 1000);
      }
      return values;
    },
  }),
];

/**
 * @param {Peer} peer
 * @param {Followed} child
 * @param {{ maxBytes: number | undefined, stage: Stage }} options
 */
async function readAll(peer, { id }, { maxBytes, stage }) {
  let [offset, afterSeq] = [0, 0];
  while (offset < stage.fileBytes) {
    const page = await peer.readPage({ processId: id, afterSeq, maxBytes }, { content: stage.content, offset });
    if (page.offset === offset) throw new Error(`process/read stops at byte ${offset} of ${stage.fileBytes}`);
    ({ offset } = page);
    afterSeq = page.nextSeq - 1;
  }
}
