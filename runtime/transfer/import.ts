/**
 * Import: writes an exported installation into a new cell. For other processes it is all or
 * nothing: from before the first entry until after the last one, the cell's record says
 * `importing`, and no process enters such a cell.
 *
 * The cell keeps its name, which is part of its actors' keys, calls and mail. So there must never
 * be two cells of that name, and the exported store must not run again.
 */
import { randomBytes } from 'node:crypto';
import { TroupeError } from '../../protocols/errors.ts';
import { cellSubject, deadLetterSubject, transcriptSubject } from '../../protocols/subjects.ts';
import type { Blobs } from '../blobs/blobs.ts';
import { decodeCell, encodeCell } from '../cell-record.ts';
import { auditSubject } from '../dead-letters.ts';
import type { Artifacts } from '../artifacts/artifacts.ts';
import type { Log, Position } from '../log/log.ts';
import { DEAD_LETTER_DOMAIN } from '../shard/commit/relay.ts';
import { Appender, patiently } from './appender.ts';
import { checkExportFile, readExportFile } from './export-file.ts';
import {
  Counter,
  type ExportHeader,
  type Frame,
  type TransferCounts,
  type TransferSummary,
} from './frames.ts';
import { ShardImport } from './import-shard.ts';
import { letterPlace, moveAudit } from './moved.ts';
import { HistoryImport } from './import-history.ts';
import { TranscriptImport } from './import-transcripts.ts';

/** What an import writes to. */
export type ImportTarget = {
  /** not atomic: shards on it begin with a snapshot */
  readonly log: Log;
  readonly blobs: Blobs;
  /** Removes all data of the cell except its record, after an interrupted import. */
  clear(): Promise<void>;
};

export type ImportOptions = FramesImport & {
  readonly file: string;
  /**
   * Called once, when the file is found whole and before anything is written: with its encrypted
   * keys, if it has any. An error ends the import; the returned function is called when the cell
   * belongs to this import.
   */
  readonly onKeys?: (keys: Uint8Array | undefined) => Promise<(() => Promise<void>) | undefined>;
};

/** What an import of frames needs, wherever they come from. */
export type FramesImport = {
  readonly target: ImportTarget;
  /** first token of the new subjects */
  readonly env: string;
  /** restart an interrupted import; default false */
  readonly again?: boolean;
  /**
   * Where files of artifacts are stored; called once, at the first file or before the cell opens.
   * Needed when the export has files.
   */
  readonly artifacts?: (cell: string) => Promise<Pick<Artifacts, 'put'>>;
  /** receives every frame as it was exported */
  readonly onFrame?: (frame: Frame) => void;
  readonly onProgress?: (what: string) => void;
  /** ends it with CANCELLED; the cell stays closed */
  readonly signal?: AbortSignal;
};

/** The cell's record while its import is under way. */
type Importing = {
  readonly importing: true;
  readonly cell: string;
  readonly shards: number;
  readonly startedAt: number;
  /** unique id of this import */
  readonly attempt: string;
};

/**
 * @throws TroupeError INVALID_ARGUMENT for an incomplete file; CONFLICT (details.reason) when there
 * is a cell (EXISTS), when an import was interrupted or is running (IMPORTING), or when the target
 * is not empty (NOT_EMPTY); UNAVAILABLE when it does not answer for a minute. After an error the
 * cell stays closed: `again` restarts the import
 */
export async function importCell(options: ImportOptions): Promise<TransferSummary> {
  const { file, onProgress } = options;
  onProgress?.(`checking ${file}`);
  const { header, bytes, sha256 } = await checkExportFile(file);
  const takeKeys = await options.onKeys?.(await keysIn(file));
  const onClaimed = async () => takeKeys?.();
  const counts = await importFrames(options, header, readExportFile(file), onClaimed);
  return { cell: header.cell, ...counts, bytes, sha256 };
}

/**
 * Imports frames that were checked, the header among them or not.
 * @throws as `importCell`
 */
export async function importFrames(
  options: FramesImport,
  header: ExportHeader,
  frames: AsyncIterable<Frame>,
  onClaimed?: () => Promise<void>,
): Promise<TransferCounts> {
  const { cell, shards, createdAt } = header;
  const record = await claim(options, header);
  await onClaimed?.();
  const counts = await new CellImport(options, header).run(frames, options.signal);
  // Another import restarted in the meantime and has written its record, so this one is refused.
  await record.append(encodeCell({ cell, shards, createdAt }));
  return counts;
}

/** The keys follow the header directly. */
async function keysIn(file: string): Promise<Uint8Array | undefined> {
  for await (const frame of readExportFile(file)) {
    if (frame[0] === 'keys') return frame[1];
    if (frame[0] !== 'header') return undefined;
  }
  return undefined;
}

/**
 * Writes the record that closes the cell; returns the function that writes the one that opens it.
 */
async function claim(
  { target, env, again = false }: FramesImport,
  { cell, shards }: ExportHeader,
): Promise<Appender> {
  const { log } = target;
  const last = await patiently(() => log.readLast(cellSubject(env)));
  if (last) refuseCell(env, decodeCell<Partial<Importing>>(last), again);
  const record = new Appender(log, cellSubject(env), last?.position);
  const attempt = randomBytes(12).toString('hex');
  const startedAt = Date.now();
  const importing: Importing = { importing: true, cell, shards, startedAt, attempt };
  await record.append(encodeCell(importing));
  if (last) await target.clear();
  return record;
}

function refuseCell(env: string, found: Partial<Importing>, again: boolean): void {
  const { importing, cell, shards, startedAt = 0 } = found;
  if (importing && again) return;
  const name = `the cell ${cell ?? '(unnamed)'} with ${shards} shards`;
  if (importing)
    throw new TroupeError(
      'CONFLICT',
      `an import of ${name} into ${env} began at ${new Date(startedAt).toISOString()} and has not ended. ` +
        'If it was interrupted, repeat the command with --again: it removes what was imported and starts from the beginning.',
      { details: { reason: 'IMPORTING', cell } },
    );
  throw new TroupeError(
    'CONFLICT',
    `${env} is ${name} already, and an import needs a new one: ` +
      'give another nats.env, or a NATS server that holds no cell.',
    { details: { reason: 'EXISTS', cell } },
  );
}

/** Everything between the two records of the cell. */
class CellImport {
  readonly #o: FramesImport;
  readonly #target: ImportTarget;
  readonly #env: string;
  readonly #header: ExportHeader;
  /** by domain */
  readonly #letters = new Map<string, Appender>();
  readonly #audits: Appender;
  readonly #transcripts: TranscriptImport;
  readonly #history: HistoryImport;
  /** dead letters by domain and old position, which audits name */
  readonly #places = new Map<string, Position>();
  #shard: ShardImport | undefined;
  #artifacts: Promise<Pick<Artifacts, 'put'>> | undefined;

  constructor(options: FramesImport, header: ExportHeader) {
    const { target, env } = options;
    const { log } = target;
    this.#o = options;
    this.#target = target;
    this.#env = env;
    this.#header = header;
    this.#audits = new Appender(log, auditSubject(env));
    this.#transcripts = new TranscriptImport(log, (actor) => transcriptSubject(env, actor));
    this.#history = new HistoryImport(log, env);
  }

  async run(frames: AsyncIterable<Frame>, signal?: AbortSignal): Promise<TransferCounts> {
    const counter = new Counter();
    let end: Frame | undefined;
    try {
      for await (const frame of frames) {
        if (signal?.aborted)
          throw new TroupeError('CANCELLED', 'the import was ended: give --again to restart it');
        counter.count(frame);
        this.#o.onFrame?.(frame);
        if (frame[0] !== end?.[0] || frame[0] === 'shard') this.#tell(frame);
        await this.#take(frame);
        end = frame;
      }
    } finally {
      // Also after a failure: when this has ended, no append is in progress.
      await this.#transcripts.settled();
      await this.#history.settled();
    }
    this.#transcripts.throwFailure();
    this.#history.throwFailure();
    await this.#files();
    const { counts } = counter;
    if (end?.[0] !== 'end' || !isSame(end[1], counts))
      throw new TroupeError('INTERNAL', 'the export does not hold what it says at its end');
    return counts;
  }

  async #take(frame: Frame): Promise<void> {
    switch (frame[0]) {
      case 'shard':
        return this.#begin(frame[1], frame[2]);
      case 'mail':
        return this.#shard?.mail(frame[1], frame[2]);
      case 'rows':
        return this.#shard?.rows(frame[1]);
      case 'blob':
        return patiently(() => this.#target.blobs.put(frame[1], frame[2]));
      case 'transcript':
        await this.#endShard();
        return this.#transcripts.append(frame[1], frame[2]);
      case 'turns':
        return this.#history.turns(frame[1], frame[2]);
      case 'history':
        return this.#history.segments(frame[1], frame[2]);
      case 'letters':
        return this.#takeLetters(frame[1], frame[2]);
      case 'audits':
        for (const bytes of frame[1]) await this.#audits.append(moveAudit(bytes, this.#places));
        return;
      case 'artifact':
        return this.#takeArtifact(frame[1], frame[2], frame[3]);
      case 'end':
        return this.#endShard();
      case 'header':
      case 'keys':
    }
  }

  async #takeArtifact(tenant: string, contentType: string, contents: Uint8Array): Promise<void> {
    const artifacts = await this.#files();
    if (!artifacts)
      throw new TroupeError('INTERNAL', 'the export holds files, and there is no place for them');
    await patiently(() => artifacts.put(tenant, contents, { contentType }));
  }

  async #files(): Promise<Pick<Artifacts, 'put'> | undefined> {
    this.#artifacts ??= this.#o.artifacts?.(this.#header.cell);
    return this.#artifacts;
  }

  async #takeLetters(
    letters: Extract<Frame, readonly ['letters', ...unknown[]]>[1],
    domain: string = DEAD_LETTER_DOMAIN,
  ): Promise<void> {
    const subject = deadLetterSubject(domain, this.#env);
    const appender = this.#letters.get(domain) ?? new Appender(this.#target.log, subject);
    this.#letters.set(domain, appender);
    for (const [position, bytes] of letters)
      this.#places.set(letterPlace({ domain, position }), await appender.append(bytes));
  }

  #tell(frame: Frame): void {
    const { shards } = this.#header;
    if (frame[0] === 'shard') this.#o.onProgress?.(`shard ${frame[1] + 1} of ${shards}`);
    else if (frame[0] === 'letters') this.#o.onProgress?.('dead letters');
    else if (frame[0] === 'transcript') this.#o.onProgress?.('transcripts');
    else if (frame[0] === 'turns' || frame[0] === 'history') this.#o.onProgress?.('history');
    else if (frame[0] === 'blob' || frame[0] === 'artifact') this.#o.onProgress?.('files');
  }

  async #begin(shard: number, scalars: Uint8Array): Promise<void> {
    await this.#endShard();
    const { cell, shards } = this.#header;
    if (shard >= shards)
      throw new TroupeError(
        'INVALID_ARGUMENT',
        `the export holds shard ${shard} of a cell of ${shards} shards`,
      );
    this.#shard = new ShardImport({ ...this.#target, env: this.#env, cell, shard, scalars });
  }

  async #endShard(): Promise<void> {
    await this.#shard?.end();
    this.#shard = undefined;
  }
}

/** An older export does not count kinds that it cannot contain. */
const isSame = (said: Partial<TransferCounts>, counts: TransferCounts): boolean =>
  Object.entries(counts).every(
    ([name, count]) => count === (said[name as keyof TransferCounts] ?? 0),
  );
