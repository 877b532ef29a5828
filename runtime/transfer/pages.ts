/** Rows and entries in pages of about PAGE_BYTES, for frames. */
import type { Log, LogEntry, Position } from '../log/log.ts';
import type { TableRow } from '../state/state.ts';
import { type Frame, PAGE_BYTES } from './frames.ts';

/** Counted per row beside its bytes. */
const OVERHEAD_BYTES = 64;

export function* rowFrames(rows: Iterable<TableRow>): Generator<Frame> {
  let page: (string | Uint8Array)[] = [];
  let size = 0;
  for (const { table, key, value } of rows) {
    page.push(table, key, value);
    size += OVERHEAD_BYTES + value.length;
    if (size < PAGE_BYTES) continue;
    yield ['rows', page];
    page = [];
    size = 0;
  }
  if (page.length > 0) yield ['rows', page];
}

/** The entries of a subject between two positions, both inclusive, in batches. */
export async function* pagesOf(
  log: Pick<Log, 'read'>,
  subject: string,
  { from = 1, upTo = Number.POSITIVE_INFINITY }: { from?: Position; upTo?: Position } = {},
): AsyncGenerator<readonly LogEntry[]> {
  for (let next = from; next <= upTo; ) {
    const page = await log.read(subject, next, { bytesMax: PAGE_BYTES });
    const last = page.at(-1);
    if (!last) return;
    const inRange = page.filter(({ position }) => position <= upTo);
    if (inRange.length > 0) yield inRange;
    next = last.position + 1;
  }
}
