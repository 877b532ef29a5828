/**
 * The reader: converts pages without blocking this process. Small pages are converted directly,
 * larger ones in a worker thread with limited memory and time, two at a time.
 *
 * The thread's file is beside the program's bundle. When the program runs from sources, the file
 * does not exist and large pages are converted directly.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { TroupeError } from '../../../../protocols/errors.ts';
import { signalWithin } from '../../../../protocols/time-limit.ts';
import type { Readable } from './readable.ts';

/** Pages up to this size take a few milliseconds. */
const AT_ONCE_BYTES = 64 * 1024;
const THREADS_MAX = 2;
/** Maximum number of pages that wait for a thread; more are refused (I8). */
const WAITING_MAX = 16;
const READ_MS = 20_000;
const HEAP_MB = 384;

export type PageOfBytes = { readonly bytes: Uint8Array; readonly contentType: string };

export type Reader = {
  /**
   * undefined: the content is not text.
   *
   * @throws TroupeError RATE_LIMIT_EXCEEDED (too many at once), PAYLOAD_TOO_LARGE (exceeds the
   *   thread's memory or time), CANCELLED
   */
  read(page: PageOfBytes, signal: AbortSignal): Promise<Readable | undefined>;
};

/** `thread`: the file of the worker; default the program's own. */
export function createReader(thread: URL | undefined = threadOfProgram()): Reader {
  let running = 0;
  const waiting: (() => void)[] = [];
  const slot = async (): Promise<void> => {
    if (running < THREADS_MAX) running++;
    else if (waiting.length >= WAITING_MAX)
      throw new TroupeError(
        'RATE_LIMIT_EXCEEDED',
        'too many large pages are being converted: try again soon',
      );
    else await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const free = (): void => {
    const next = waiting.shift();
    if (next) next();
    else running--;
  };
  return {
    async read(page, signal) {
      if (page.bytes.byteLength <= AT_ONCE_BYTES || thread === undefined)
        return (await import('./readable.ts')).readableOf(page.bytes, page.contentType);
      await slot();
      try {
        return await inThread(thread, page, signal);
      } finally {
        free();
      }
    },
  };
}

function threadOfProgram(): URL | undefined {
  const file = new URL('./page-reader.js', import.meta.url);
  return file.protocol === 'file:' && existsSync(fileURLToPath(file)) ? file : undefined;
}

type PageResult = { readonly readable?: Readable; readonly failed?: string };

/** Terminates the thread after each page, whatever the outcome. */
async function inThread(
  thread: URL,
  page: PageOfBytes,
  signal: AbortSignal,
): Promise<Readable | undefined> {
  const worker = new Worker(thread, {
    workerData: page,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, stackSizeMb: 16 },
    env: {},
    execArgv: [],
  });
  const within = signalWithin(signal, READ_MS);
  try {
    const { readable, failed } = await new Promise<PageResult>((resolve, reject) => {
      worker.on('message', resolve);
      worker.on('error', reject);
      worker.on('exit', () => reject(new Error('the thread ended')));
      const stop = () => reject(new Error(`it takes longer than ${READ_MS / 1_000} s`));
      within.addEventListener('abort', stop, { once: true });
      if (within.aborted) stop();
    });
    if (failed !== undefined) throw new Error(failed);
    return readable;
  } catch (error) {
    if (signal.aborted) throw new TroupeError('CANCELLED', 'the call was aborted');
    throw new TroupeError(
      'PAYLOAD_TOO_LARGE',
      `the page is too large to convert: ${(error as Error).message}`,
    );
  } finally {
    await worker.terminate();
  }
}
