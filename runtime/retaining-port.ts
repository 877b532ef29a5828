/** Retaining: the port of what retention does below the actors. */
import type { Address } from '../protocols/address.ts';

/** Where a dead letter is. */
export type LetterPlace = { readonly domain: string; readonly position: number };
export type AgedLetter = LetterPlace & {
  readonly id: string;
  /** epoch milliseconds */
  readonly at: number;
  readonly to: string;
  readonly from?: string;
  readonly event?: unknown;
  /** epoch milliseconds; absent for an open letter */
  readonly resolvedAt?: number;
  /** of its entry */
  readonly bytes: number;
  /** it was redriven so recently that the redrive may be repeated */
  readonly isSending: boolean;
};

/** A segment of the history of a shard; actors whose turns are stored with bodies are named. */
export type AgedSegment = {
  readonly shard: number;
  readonly position: number;
  /** shard time of its last turn */
  readonly lastAt: number;
  readonly isLast: boolean;
  /** of its entry */
  readonly bytes: number;
  /** with the position of their turns */
  readonly full: readonly (readonly [actor: string, position: number])[];
};

/** What retention does below the actors (`retaining.ts`). Every call may be repeated. */
export interface Retaining {
  /** Dead letters to actors of a tenant, by domain and position, from a place on. */
  letters(tenant: string, from?: LetterPlace): AsyncIterable<AgedLetter>;
  /** Removes letters by their ids. Others may get new positions. */
  removeLetters(domain: string, ids: ReadonlySet<string>): Promise<void>;
  /** Segments of the history of all shards, oldest first in each, behind a place. */
  segments(after?: Pick<AgedSegment, 'shard' | 'position'>): AsyncIterable<AgedSegment>;
  /** Bytes of the turns with bodies that are stored at that position; 0: there are none. */
  turnBytes(actor: Address, position: number): Promise<number>;
  /** Removes turns with bodies up to the position. */
  removeTurns(actor: Address, upTo: number): Promise<void>;
  /** Removes segments of a shard up to the position. The last one stays. */
  removeSegments(shard: number, upTo: number): Promise<void>;
  /** Bytes of transcript entries up to the position; default: all. */
  transcriptBytes(actor: Address, upTo?: number): Promise<number>;
  /** Removes transcript entries up to the position. The last one stays. */
  trimTranscript(actor: Address, upTo: number): Promise<void>;
}
