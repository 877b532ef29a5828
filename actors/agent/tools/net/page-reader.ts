/** The worker thread that reads one large page and ends (`reader.ts`). */
import { parentPort, workerData } from 'node:worker_threads';
import type { PageOfBytes } from './reader.ts';
import { readableOf } from './readable.ts';

const { bytes, contentType } = workerData as PageOfBytes;
try {
  parentPort?.postMessage({ readable: readableOf(bytes, contentType) });
} catch (error) {
  parentPort?.postMessage({ failed: (error as Error).message });
}
