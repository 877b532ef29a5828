/** The worker thread that converts one large page and exits (`reader.ts`). */
import { parentPort, workerData } from 'node:worker_threads';
import type { PageOfBytes } from './reader.ts';
import { readableOf } from './readable.ts';

function readPage({ bytes, contentType }: PageOfBytes): unknown {
  try {
    return { readable: readableOf(bytes, contentType) };
  } catch (error) {
    return { failed: (error as Error).message };
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
parentPort?.postMessage(readPage(workerData as PageOfBytes));
