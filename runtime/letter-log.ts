/** Reads the log of a domain of dead letters, and removes letters from any place in it. */
import type { Log, LogEntry, Position } from './log/log.ts';
import { encodeErased, isErased } from './shard/commit/erased-entry.ts';
import { decodeKept } from './shard/commit/records.ts';

const PAGE = 1_000;

/** Entries from a position on, oldest first, without those that take the place of erased ones. */
export async function* lettersIn(
  log: Pick<Log, 'read'>,
  subject: string,
  from: Position,
): AsyncGenerator<LogEntry> {
  for (let next = from; ; ) {
    const entries = await log.read(subject, next, { limit: PAGE });
    for (const entry of entries) if (!isErased(decodeKept(entry.bytes))) yield entry;
    if (entries.length === 0) return;
    next = entries.at(-1)!.position + 1;
  }
}

/**
 * A log is trimmed from its beginning, so letters that stay and are before the last one that goes
 * are appended again first. After a crash in between they are stored twice, and listed once.
 */
export async function removeLetters(
  log: Pick<Log, 'read' | 'last' | 'append' | 'trim'>,
  subject: string,
  isRemoved: (entry: LogEntry) => boolean,
): Promise<void> {
  const end = await log.last(subject);
  let upTo: Position = 0;
  for await (const entry of lettersIn(log, subject, 1)) {
    if (entry.position > end) break;
    if (isRemoved(entry)) upTo = entry.position;
  }
  if (upTo === 0) return;
  let isEmpty = upTo === end;
  for await (const entry of lettersIn(log, subject, 1)) {
    if (entry.position > upTo) break;
    if (isRemoved(entry)) continue;
    await log.append(subject, entry.bytes);
    isEmpty = false;
  }
  // A log keeps the last entry of a subject.
  if (isEmpty) await log.append(subject, encodeErased());
  await log.trim(subject, upTo);
}
