/**
 * Formats of records: the layouts of journals, mailboxes, transcripts, dead letters and history, as
 * data. A new layout is a new row here, and a condition on `format` where a record is encoded.
 *
 * A program reads every format up to its newest one. It writes the one that its cell uses, which
 * `troupe upgrade finish` raises (runtime/cell-format.ts).
 *
 * Entries from before formats have no header. They are format 0, which no program writes any more.
 */
import type { RecordFormat } from '../../../protocols/upgrade.ts';

/** In rising order. */
export const FORMATS: readonly RecordFormat[] = [
  {
    format: 1,
    oldestReader: 1,
    headerBytes: 7,
    since: '0.1.0',
    changes: 'each entry has a header with its format; the checksum of a journal record covers it',
  },
];
