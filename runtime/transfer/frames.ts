/**
 * Frames: the content of an export, in the order in which it is written and read:
 *
 *   header      keys, if there is a passphrase
 *   per shard   shard · mail … · rows …
 *   letters …   audits …   transcript …   blob …   artifact …
 *   per shard, only in backups of a cluster   turns …   history …
 *   end
 *
 * Each is one msgpack array that begins with its name. Lists are cut into pages, so no frame is
 * much larger than `PAGE_BYTES` or its largest element.
 */
import type { Lane } from '../../protocols/statechart.ts';
import type { Position } from '../log/log.ts';

/** 2: dead letters of several domains. 3: keys, files of artifacts. */
export const FORMAT = 3;
/** A page of entries or rows is closed when it has this number of bytes. */
export const PAGE_BYTES = 128 * 1024;

export type ExportHeader = {
  /** of the frames; a newer one is refused */
  readonly format: number;
  readonly cell: string;
  /** first token of the subjects it was exported from; an import may use another one */
  readonly env: string;
  readonly shards: number;
  /** when the cell was made, and when this file was: epoch milliseconds */
  readonly createdAt: number;
  readonly exportedAt: number;
  /** ids of the keys that payloads could be sealed to; absent in format 1 and 2 */
  readonly sealingKids?: readonly string[];
  /** version of the program that wrote the file */
  readonly program: string;
};

/** A mailbox entry with the time at which its log stored it. */
export type MailFrame = readonly [position: Position, logTimeMs: number, bytes: Uint8Array];

export type Frame =
  | readonly ['header', ExportHeader]
  /** the scalars of the shard's fold; what follows is of this shard */
  | readonly ['shard', shard: number, scalars: Uint8Array]
  /** accepted and not yet applied, in order; the data lane first */
  | readonly ['mail', Lane, readonly MailFrame[]]
  /** table, key, value, table, key, value, … without the scalars */
  | readonly ['rows', readonly (string | Uint8Array)[]]
  /** of one domain; of the runtime's own where none is named, as in format 1 */
  | readonly ['letters', readonly (readonly [Position, Uint8Array])[], domain?: string]
  | readonly ['audits', readonly Uint8Array[]]
  /** the next entries of an actor's transcript */
  | readonly ['transcript', actor: string, readonly Uint8Array[]]
  | readonly ['blob', name: string, Uint8Array]
  /** what history keeps of an actor's turns with bodies; all pages of an actor are consecutive */
  | readonly ['turns', actor: string, readonly (readonly [Position, Uint8Array])[]]
  /** the next segments of a shard's history. They name positions of the `turns` before them */
  | readonly ['history', shard: number, readonly (readonly [Position, Uint8Array])[]]
  /** keys of the installation, encrypted with a passphrase (runtime/secrets/passphrase.ts) */
  | readonly ['keys', sealed: Uint8Array]
  /** a file of a tenant, unencrypted */
  | readonly ['artifact', tenant: string, contentType: string, contents: Uint8Array]
  | readonly ['end', TransferCounts];

/** The number of transferred items. */
export type TransferCounts = {
  readonly shards: number;
  readonly actors: number;
  /** mailbox entries: accepted messages and outcomes that have no turn yet */
  readonly entries: number;
  /** transcripts that have entries */
  readonly transcripts: number;
  readonly letters: number;
  readonly blobs: number;
  /** files of artifacts; in format 1 and 2 there are none */
  readonly artifacts: number;
  /** segments of history, and entries of turns with bodies; only in backups of a cluster */
  readonly history: number;
};

export type TransferSummary = TransferCounts & {
  readonly cell: string;
  /** of the file */
  readonly bytes: number;
  /** of the file without its last 32 bytes, which contain it */
  readonly sha256: string;
};

/** Counts the frames, on both sides alike. */
export class Counter {
  #counts = {
    actors: 0,
    entries: 0,
    transcripts: 0,
    letters: 0,
    blobs: 0,
    artifacts: 0,
    history: 0,
  };
  #shards = 0;
  #transcript: string | undefined;

  count(frame: Frame): void {
    const counts = this.#counts;
    switch (frame[0]) {
      case 'shard':
        this.#shards++;
        return;
      case 'mail':
        counts.entries += frame[2].length;
        return;
      case 'rows':
        for (let i = 0; i < frame[1].length; i += 3) if (frame[1][i] === 'actor') counts.actors++;
        return;
      case 'letters':
        counts.letters += frame[1].length;
        return;
      case 'transcript':
        if (frame[1] !== this.#transcript) counts.transcripts++;
        this.#transcript = frame[1];
        return;
      case 'blob':
        counts.blobs++;
        return;
      case 'artifact':
        counts.artifacts++;
        return;
      case 'turns':
      case 'history':
        counts.history += frame[2].length;
        return;
      case 'header':
      case 'keys':
      case 'audits':
      case 'end':
    }
  }

  get counts(): TransferCounts {
    return { shards: this.#shards, ...this.#counts };
  }
}
