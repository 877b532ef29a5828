/**
 * Transcripts that OpenClaw moved out of `transcript_events`: into cold storage (a table of the
 * database, or files below `sessions/cold`), or into archives of sessions that were reset.
 *
 * Invariant: an archive is used only if it has the SHA-256 that the database names.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { ARCHIVE_BYTES_MAX, decompressed } from './compressed.ts';
import { bytesIn, eventsOf, type Events } from './files-layout.ts';
import { type Fields, fieldsOf, parsed, textOf } from './found.ts';

/** A row of one of the tables. */
type Row = Readonly<Record<string, unknown>>;

/**
 * The events of a session in cold storage. @param folder `agents/<id>/sessions`
 * @throws Error when the archive is missing or damaged
 */
export function coldEvents(row: Row, folder: string, state: string): Events {
  const name = String(row['archive_name']);
  if (!/^[a-f0-9]{64}\.jsonl\.zst$/.test(name)) throw new Error(`${name} is no cold archive`);
  const place = join(folder, 'cold', name);
  const data = row['archive_blob'] instanceof Uint8Array ? row['archive_blob'] : undefined;
  const text = verified(row, data ?? bytesIn(place, state), place, true);
  const events = eventsOf(text, place).events.flatMap((line, n): readonly Fields[] => {
    if (line['kind'] !== 'event') return [];
    const json = textOf(fieldsOf(line['row'])['event_json']) ?? '';
    return [fieldsOf(parsed(json, `${place} line ${n + 1}`))];
  });
  return { events, hash: String(row['archive_sha256']) };
}

/** The events of an archive of a session that was reset. @throws Error when it is damaged */
export function archivedEvents(row: Row, place: string): Events {
  const data = row['archive_blob'] instanceof Uint8Array ? row['archive_blob'] : undefined;
  return eventsOf(verified(row, data, place, row['encoding'] === 'zstd'), place);
}

function verified(row: Row, data: Uint8Array | undefined, place: string, isZstd: boolean): string {
  if (data === undefined) throw new Error(`${place} is missing`);
  if (createHash('sha256').update(data).digest('hex') !== row['archive_sha256'])
    throw new Error(`${place} is damaged: its SHA-256 is not the one in the database`);
  return isZstd ? decompressed(data, place, ARCHIVE_BYTES_MAX) : Buffer.from(data).toString('utf8');
}
