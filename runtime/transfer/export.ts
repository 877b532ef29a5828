/**
 * Export: all data of an embedded store that another log needs to continue its work, as one file:
 * for each shard the fold and the mail without a turn; transcripts, dead letters and the decisions
 * about them; blobs; files of artifacts, and keys if they are passed. Journals are left out,
 * because the fold is their result.
 *
 * The lock of the folder keeps other processes out. The store does the same as at a start: it may
 * write a checkpoint, and nothing else.
 */
import type { Address } from '../../protocols/address.ts';
import { encode } from '../../protocols/codec.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Lane } from '../../protocols/statechart.ts';
import {
  cellSubject,
  escapeToken,
  journalSubject,
  mailboxSubject,
  parseSubject,
} from '../../protocols/subjects.ts';
import { decodeCell } from '../cell-record.ts';
import { auditSubject } from '../dead-letters.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { EmbeddedStore } from '../log/embedded-store.ts';
import { isHead, TABLE } from '../shard/commit/fold.ts';
import { loadRows } from '../shard/recovery/load.ts';
import type { TableRow } from '../state/state.ts';
import { writeExportFile } from './export-file.ts';
import {
  Counter,
  type ExportHeader,
  FORMAT,
  type Frame,
  type MailFrame,
  type TransferSummary,
} from './frames.ts';
import { pagesOf, rowFrames } from './pages.ts';
import { type WorkspaceSource, WorkspacesFound } from './workspaces.ts';

export type ExportOptions = {
  readonly store: Pick<EmbeddedStore, 'log' | 'state' | 'cell' | 'subjects'>;
  readonly blobs: Blobs;
  /** default `local`, as in createSystem */
  readonly env?: string;
  readonly file: string;
  /** replaces an existing file of that name; default false */
  readonly force?: boolean;
  /** version of this program */
  readonly program: string;
  /** keys of the installation, encrypted; left out: the file has none */
  readonly keys?: Uint8Array;
  /** ids of the keys that payloads could be sealed to; default none */
  readonly sealingKids?: readonly string[];
  /** files that are kept outside of the store, one at a time; left out: none */
  readonly artifacts?: () => AsyncIterable<ArtifactFile>;
  /** left out: actors have no files outside of the blobs */
  readonly workspaces?: WorkspaceSource;
  /** ends it with CANCELLED; no file is left */
  readonly signal?: AbortSignal;
  readonly onProgress?: (what: string) => void;
};

export type ArtifactFile = {
  readonly tenant: string;
  readonly contentType: string;
  readonly contents: Uint8Array;
};

type Source = ExportOptions & {
  readonly env: string;
  readonly files: WorkspacesFound | undefined;
};

/** All of a shard's snapshots begin with this; an embedded store has none, and needs none. */
const SNAPSHOTS = 'snap/';
const LANES: readonly Lane[] = ['data', 'control'];

/**
 * @throws TroupeError NOT_FOUND when the store holds no cell; CONFLICT when the file exists;
 * INTERNAL when stored data is damaged or of an unknown kind: then no file is written
 */
export async function exportCell(options: ExportOptions): Promise<TransferSummary> {
  const { env = 'local', workspaces } = options;
  const files = workspaces === undefined ? undefined : await WorkspacesFound.in(workspaces);
  const source: Source = { ...options, env, files };
  const header = await headerOf(source);
  refuseUnknown(source, header.shards);
  const counter = new Counter();
  const { file, force = false } = options;
  const written = await writeExportFile(file, allFrames(source, header, counter), { force });
  return { cell: header.cell, ...counter.counts, ...written };
}

async function headerOf({ store, env, program, sealingKids = [] }: Source): Promise<ExportHeader> {
  const record = await store.log.readLast(cellSubject(env));
  if (!record)
    throw new TroupeError(
      'NOT_FOUND',
      'there is nothing to export: troupe never ran on this store',
    );
  const { shards, createdAt } = decodeCell<{ shards: number; createdAt: number }>(record);
  const { cell } = store;
  const exportedAt = Date.now();
  return { format: FORMAT, cell, env, shards, createdAt, exportedAt, program, sealingKids };
}

/** Reports data that an export cannot contain. @throws TroupeError INTERNAL */
function refuseUnknown({ store, env }: Source, shards: number): void {
  const known = new Set([cellSubject(env), auditSubject(env)]);
  for (const name of store.subjects('')) {
    if (known.has(name) || isCarried(name, env, shards) || isHistory(name, env)) continue;
    throw new TroupeError('INTERNAL', `the store holds ${name}, which an export does not know`);
  }
}

/** What actors did is left behind: it names positions of this store. */
const isHistory = (name: string, env: string): boolean =>
  name.startsWith(`hst.${escapeToken(env)}.`);

function isCarried(name: string, env: string, shards: number): boolean {
  if (!/^(mbx|jrn|trn|a2a)\./.test(name)) return false;
  const subject = parseSubject(name);
  if (subject.env !== env) return false;
  if ('shard' in subject) return subject.shard < shards;
  return subject.kind === 'transcript' || subject.kind === 'deadLetters';
}

async function* allFrames(
  source: Source,
  header: ExportHeader,
  counter: Counter,
): AsyncGenerator<Frame> {
  const counted = async function* (frames: AsyncIterable<Frame>) {
    for await (const frame of frames) {
      if (source.signal?.aborted) throw new TroupeError('CANCELLED', 'the export was ended');
      counter.count(frame);
      yield frame;
    }
  };
  yield ['header', header];
  if (source.keys) yield ['keys', source.keys];
  for (let shard = 0; shard < header.shards; shard++) {
    source.onProgress?.(`shard ${shard + 1} of ${header.shards}`);
    yield* counted(shardFrames(source, shard));
  }
  source.onProgress?.('dead letters and transcripts');
  yield* counted(deadLetterFrames(source));
  yield* counted(transcriptFrames(source));
  source.onProgress?.('files');
  yield* counted(blobFrames(source));
  yield* counted(artifactFrames(source));
  yield ['end', counter.counts];
}

async function* shardFrames(source: Source, shard: number): AsyncGenerator<Frame> {
  const { store, blobs, env } = source;
  const { log, state, cell } = store;
  const journal = journalSubject(env, shard);
  // This also verifies that rows and journal belong together.
  const { fold } = await loadRows({ log, state, blobs, cell, journal, shard });
  yield ['shard', shard, encode(fold.scalars)];
  const { mailFloor, ctlFloor } = fold.scalars;
  for (const lane of LANES) {
    const floor = lane === 'data' ? mailFloor : ctlFloor;
    const mailbox = mailboxSubject(env, shard, lane);
    for await (const page of pagesOf(log, mailbox, { from: floor + 1 })) {
      const entries = page.map(({ position, logTimeMs, bytes }): MailFrame => {
        return [position, logTimeMs, bytes];
      });
      yield ['mail', lane, entries];
    }
  }
  yield* rowFrames(exportedRows(source, shard));
}

function* exportedRows({ store, files }: Source, shard: number): Generator<TableRow> {
  for (const row of store.state.dump(shard)) {
    if (isHead(row.table, row.key)) continue;
    if (row.table === TABLE.actor) files?.look(row.key as Address);
    yield row;
  }
}

async function* deadLetterFrames(source: Source): AsyncGenerator<Frame> {
  const { env, store } = source;
  for (const name of store.subjects('a2a.')) {
    const subject = parseSubject(name);
    if (subject.kind !== 'deadLetters' || name === auditSubject(env)) continue;
    for await (const page of pagesOf(source.store.log, name)) {
      const letters = page.map(({ position, bytes }) => [position, bytes] as const);
      yield ['letters', letters, subject.domain];
    }
  }
  for await (const page of pagesOf(source.store.log, auditSubject(env)))
    yield ['audits', page.map(({ bytes }) => bytes)];
}

async function* transcriptFrames(source: Source): AsyncGenerator<Frame> {
  for (const name of source.store.subjects(`trn.${escapeToken(source.env)}.`)) {
    const subject = parseSubject(name);
    if (subject.kind !== 'transcript') continue;
    const actor = `${subject.tenant}/${subject.type}/${subject.key}`;
    for await (const page of pagesOf(source.store.log, name))
      yield ['transcript', actor, page.map(({ bytes }) => bytes)];
  }
}

async function* blobFrames({ blobs, files, store, onProgress }: Source): AsyncGenerator<Frame> {
  for (const name of await blobs.list('')) {
    if (name.startsWith(SNAPSHOTS)) continue;
    const bytes = await blobs.get(name);
    if (!bytes) throw new TroupeError('INTERNAL', `the blob ${name} went while it was read`);
    yield ['blob', name, bytes];
  }
  if (files) yield* files.frames(store.cell, (line) => onProgress?.(line));
}

async function* artifactFrames({ artifacts }: Source): AsyncGenerator<Frame> {
  if (!artifacts) return;
  for await (const { tenant, contentType, contents } of artifacts())
    yield ['artifact', tenant, contentType, contents];
}
