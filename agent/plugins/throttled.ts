/** Reads a stream at a limited rate: what exceeds it waits in the pipe, and so does its writer. */
import type { Readable } from 'node:stream';
import type { Clock } from '../../runtime/index.ts';

const SECOND_MS = 1_000;

export type ReadLimits = { readonly bytesPerSecondMax: number; readonly clock: Clock };

export function readThrottled(
  stream: Readable,
  { bytesPerSecondMax, clock }: ReadLimits,
  onChunk: (chunk: Buffer) => void,
): void {
  let from = clock.monotonicMs();
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    const now = clock.monotonicMs();
    if (now - from >= SECOND_MS) [from, bytes] = [now, 0];
    bytes += chunk.length;
    if (bytes > bytesPerSecondMax) {
      stream.pause();
      clock.after(from + SECOND_MS - now, () => void stream.resume());
    }
    onChunk(chunk);
  });
}
