/** The worker thread that converts one large page and exits (`reader.ts`). */
import { parentPort, workerData } from 'node:worker_threads';
import type { PageOfBytes } from './reader.ts';

async function readPage({ bytes, contentType }: PageOfBytes): Promise<unknown> {
  // Imported here, so that a build shares this code with the program.
  const { readableOf } = await import('./readable.ts');
  try {
    return { readable: readableOf(bytes, contentType) };
  } catch (error) {
    return { failed: (error as Error).message };
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
parentPort?.postMessage(await readPage(workerData as PageOfBytes));
