/**
 * What the store of a running program consists of, read beside it: rows by kind, and the pages of
 * its data file. So growth that keeps data is separate from growth that should not be.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { subjectOfKey } from '../../runtime/log/entry-row.ts';
import { LmdbSnapshot } from '../../runtime/log/lmdb-snapshot.ts';
import { addressOfStateKey } from '../../runtime/state/row.ts';

/** `kept`: it grows with what users do, until its retention removes it. */
export type StoredKind = { readonly name: string; readonly kept: boolean };
export type StoredBytes = { rows: number; bytes: number };

const kind = (name: string, kept: boolean): StoredKind => ({ name, kept });

/** By the first part of a subject. */
const OF_SUBJECT: Readonly<Record<string, StoredKind>> = {
  trn: kind('transcripts', true),
  hst: kind('history', true),
  a2a: kind('dead letters', true),
  jrn: kind('journals', false),
  mbx: kind('mailboxes', false),
};
const KEYS = kind('idempotency keys (28 h)', true);
/** By table; names of indexes begin with `ix:`. */
const OF_TABLE: Readonly<Record<string, StoredKind>> = {
  key: KEYS,
  expiry: KEYS,
  actor: kind('actors', true),
};
const LISTS = kind('lists, ended runs (28 h)', true);
const SUBJECTS = kind('names of transcripts and history', true);
const OTHER = kind('timers, effects, other', false);

const kindOfSubject = (name: string): StoredKind => OF_SUBJECT[name.split('.', 1)[0]!] ?? OTHER;
const kindOfTable = (table: string): StoredKind =>
  table.startsWith('ix:') ? LISTS : (OF_TABLE[table] ?? OTHER);

export type Stored = {
  readonly kinds: ReadonlyMap<StoredKind, Readonly<StoredBytes>>;
  /** bytes of pages of the data file that have no row; they are used again */
  readonly freeBytes: number;
};

/** @param path of the store. Reads every row: a second for some hundred megabytes */
export async function storedKinds(path: string): Promise<Stored> {
  const rows = new StoreReader(path);
  try {
    rows.renew();
    return { kinds: kindsOf(rows), freeBytes: rows.freeBytes() };
  } finally {
    await rows.close();
  }
}

function kindsOf(rows: LmdbSnapshot): Stored['kinds'] {
  const kinds = new Map<StoredKind, StoredBytes>();
  const count = (of: StoredKind, bytes: number) => {
    const sum = kinds.get(of) ?? { rows: 0, bytes: 0 };
    kinds.set(of, sum);
    sum.rows++;
    sum.bytes += bytes;
  };
  const subjects = new Map<number, StoredKind>();
  for (const { key, value } of rows.all('meta')) {
    count(SUBJECTS, key.length + value.length);
    if (key[0] === SUBJECT_MARK && value.length === 4)
      subjects.set(numberIn(value), kindOfSubject(subjectOfKey(key)));
  }
  for (const { key, value } of rows.all('log'))
    count(subjects.get(numberIn(key)) ?? OTHER, key.length + value.length);
  for (const { key, value } of rows.all('state'))
    count(kindOfTable(addressOfStateKey(key).table), key.length + value.length);
  return kinds;
}

const SUBJECT_MARK = 's'.charCodeAt(0);
const numberIn = (bytes: Uint8Array): number =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0);

class StoreReader extends LmdbSnapshot {
  freeBytes(): number {
    const all = this.root.getStats() as EnvironmentStats;
    const trees = Object.values(this.tables).map((table) => table.getStats() as TreeStats);
    let used = META_PAGES;
    for (const tree of [all.root, all.free, ...trees])
      used += tree.treeBranchPageCount + tree.treeLeafPageCount + tree.overflowPages;
    return (all.lastPageNumber + 1 - used) * all.pageSize;
  }
}

/** Of LMDB, at the beginning of its file. */
const META_PAGES = 2;
type TreeStats = Record<'treeBranchPageCount' | 'treeLeafPageCount' | 'overflowPages', number>;
type EnvironmentStats = {
  readonly pageSize: number;
  readonly lastPageNumber: number;
  readonly root: TreeStats;
  readonly free: TreeStats;
};

/** Allocated bytes of files below a folder; a file that is removed meanwhile counts nothing. */
export function bytesBelow(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true }))
    if (entry.isFile())
      bytes +=
        (statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.blocks ?? 0) *
        512;
  return bytes;
}
