/**
 * Erasing: what an erasure does below the actors. It finds what is stored of a tenant, removes it
 * by turns of the shards and by trims of logs without an owner, and scrubs the disk.
 *
 * Every call may be repeated: what is gone already is no error. Only where the log is atomic: a
 * cluster refuses `scrub`, because its journals, snapshots and streams would keep the bytes.
 */
import { type Address, address, parseAddress, shardOf } from '../protocols/address.ts';
import { decode } from '../protocols/codec.ts';
import { TroupeError } from '../protocols/errors.ts';
import { SYSTEM_PRINCIPAL } from '../protocols/security/principals.ts';
import type { SysErase } from '../protocols/supervision.ts';
import {
  escapeToken,
  fullHistorySubject,
  parseSubject,
  transcriptSubject,
} from '../protocols/subjects.ts';
import { askOrThrow } from './ask-or-throw.ts';
import type { DeadLetterLog } from './dead-letters.ts';
import { removeFullTurns } from './history/full-turns.ts';
import type { Hosting } from './hosting.ts';
import { type Log, READ_LIMIT_DEFAULT } from './log/log.ts';
import type { State } from './state/state.ts';
import { TABLE } from './shard/commit/fold.ts';
import { encodeErased } from './shard/commit/erased-entry.ts';
import { nextTurn } from './shard/recovery/snapshot.ts';
import { ERASED_ROWS_MAX } from './shard/turn/erase-actor.ts';
import { decodeActorRow } from './shard/turn/actor-row.ts';
import type { Erasing, StoredRow } from './erasing-port.ts';
import type { System } from './system.ts';
import type { LogTranscripts } from './transcripts.ts';

/** What an embedded store adds; absent where bytes cannot be removed from the disk. */
export type ErasableStore = {
  readonly subjects?: (prefix: string) => Iterable<string>;
  readonly scrub?: () => Promise<void>;
};

type ErasingOptions = {
  readonly store: ErasableStore & { readonly log: Log; readonly state: Pick<State, 'dump'> };
  readonly env: string;
  readonly shards: number;
  readonly hosting: () => Hosting;
  readonly ask: System['ask'];
  readonly letters: Pick<DeadLetterLog, 'erase'>;
  readonly transcripts: Pick<LogTranscripts, 'forget'>;
};

const ASK_MS = 30_000;
const TRIM_MS = 60_000;
const ROWS_PER_TICK = 500;
/** Actors of this type are never created with the key: a directive does not create one. */
const BLANK_TYPE = 'erasure';

export class StoreErasing implements Erasing {
  readonly #o: ErasingOptions;
  readonly #blanks = new Map<string, Address>();

  constructor(options: ErasingOptions) {
    this.#o = options;
  }

  async *rows(tenant: string): AsyncIterable<StoredRow> {
    const { store, shards, hosting } = this.#o;
    await hosting().readsAll();
    let count = 0;
    for (let shard = 0; shard < shards; shard++)
      for (const { table, key, value } of store.state.dump(shard)) {
        if (++count % ROWS_PER_TICK === 0) await nextTurn();
        const row = storedRow(tenant, { shard, table, key, value });
        if (row) yield row;
      }
  }

  async eraseActor(actor: Address, rows: SysErase['rows'] = []): Promise<void> {
    const message: SysErase = { type: 'sys.erase', rows: rows.slice(0, ERASED_ROWS_MAX) };
    // The control lane stops it at once; the other lane follows what was sent to it before.
    await this.#order(actor, message, 'control');
    await this.#order(actor, message, 'data');
    const { log } = this.#o.store;
    const history = fullHistorySubject(this.#o.env, actor);
    await removeFullTurns(log, history, { onFailed: () => {} });
  }

  async eraseRows(
    tenant: string,
    shard: number,
    rows: NonNullable<SysErase['rows']>,
    expiries: readonly string[],
  ): Promise<void> {
    const end = Math.max(rows.length, expiries.length);
    for (let at = 0; at < end; at += ERASED_ROWS_MAX) {
      const part = <T>(all: readonly T[]) => all.slice(at, at + ERASED_ROWS_MAX);
      const message: SysErase = {
        type: 'sys.erase',
        rows: part(rows),
        expiries: part(expiries),
      };
      await this.#order(this.#blank(tenant, shard), message, 'data');
    }
  }

  *transcripts(tenant: string): Iterable<Address> {
    const { store, env } = this.#o;
    const prefix = `trn.${escapeToken(env)}.${escapeToken(tenant)}.`;
    for (const name of store.subjects?.(prefix) ?? []) {
      const subject = parseSubject(name);
      if (subject.kind === 'transcript') yield address(subject.tenant, subject.type, subject.key);
    }
  }

  async eraseTranscript(actor: Address): Promise<number> {
    const { store, env } = this.#o;
    const { log } = store;
    const subject = transcriptSubject(env, actor);
    const last = await log.last(subject);
    if (last === 0) return 0;
    let entries = 0;
    for (let from = 1; ; ) {
      const page = await log.read(subject, from, { limit: READ_LIMIT_DEFAULT });
      if (page.length === 0) break;
      entries += page.length;
      from = page.at(-1)!.position + 1;
    }
    // A log keeps the last entry of a subject: one without content is put behind it.
    const answer = await log.append(subject, encodeErased());
    if (answer.kind === 'stored') await log.trim(subject, answer.position - 1);
    this.#o.transcripts.forget(actor);
    return entries;
  }

  eraseLetters(matches: Parameters<Erasing['eraseLetters']>[0], isDryRun = false) {
    return this.#o.letters.erase(matches, isDryRun);
  }

  async scrub(tenant: string): Promise<void> {
    const { shards, hosting, store } = this.#o;
    if (!this.canScrub)
      throw new TroupeError(
        'UNAVAILABLE',
        'nothing can be erased from a cluster yet: its streams would keep the content',
      );
    for (let shard = 0; shard < shards; shard++) {
      const blank = this.#blank(tenant, shard);
      // Its entries take the place of the last ones of the mailbox, which no trim removes.
      await this.#order(blank, { type: 'sys.erase' }, 'control');
      await this.#order(blank, { type: 'sys.erase' }, 'data');
      const trimmed = hosting().trimmedAll!(shard);
      await this.#order(blank, { type: 'sys.erase' }, 'control');
      await inTime(trimmed, shard);
    }
    await store.scrub!();
  }

  get canScrub(): boolean {
    return this.#o.store.scrub !== undefined && this.#o.hosting().trimmedAll !== undefined;
  }

  async #order(actor: Address, message: SysErase, lane: 'control' | 'data'): Promise<void> {
    await askOrThrow(this.#o, actor, message, {
      principal: SYSTEM_PRINCIPAL,
      timeoutMs: ASK_MS,
      lane,
      timedOut: `${actor} has not answered yet: the erasure is tried again`,
    });
  }

  /** An address of the shard that no actor has. */
  #blank(tenant: string, shard: number): Address {
    const name = `${tenant}/${shard}`;
    const known = this.#blanks.get(name);
    if (known) return known;
    for (let n = 0; ; n++) {
      const blank = address(tenant, BLANK_TYPE, `blank-${n}`);
      if (shardOf(blank, this.#o.shards) !== shard) continue;
      this.#blanks.set(name, blank);
      return blank;
    }
  }
}

const INDEX = 'ix:';

function storedRow(
  tenant: string,
  row: {
    readonly shard: number;
    readonly table: string;
    readonly key: string;
    readonly value: Uint8Array;
  },
): StoredRow | undefined {
  const { shard, table, key, value } = row;
  if (table.startsWith(INDEX)) {
    if (!key.startsWith(`${tenant}|`)) return undefined;
    const index = table.slice(INDEX.length);
    return { kind: 'index', shard, index, key: key.slice(tenant.length + 1), value: decode(value) };
  }
  if (table === TABLE.actor && key.startsWith(`${tenant}/`)) {
    const actor = key as Address;
    return { kind: 'actor', actor, type: parseAddress(actor).type, context: contextOf(value) };
  }
  if (table === TABLE.expiry) return expiryRow(tenant, shard, key);
  if (table === TABLE.key && key.startsWith(`${tenant}/`))
    return { kind: 'key', actor: key.slice(0, key.indexOf('\0')) as Address };
  return undefined;
}

/** See `expiryOf`: due time, table, key of the row. */
function expiryRow(tenant: string, shard: number, expiry: string): StoredRow | undefined {
  const named = expiry.slice(expiry.indexOf('|') + 1);
  const end = named.indexOf('\0');
  const [table, key] = [named.slice(0, end), named.slice(end + 1)];
  if (table.startsWith(INDEX) && key.startsWith(`${tenant}|`)) {
    const of = { index: table.slice(INDEX.length), key: key.slice(tenant.length + 1) };
    return { kind: 'expiry', shard, expiry, of };
  }
  if (table !== TABLE.key || !key.startsWith(`${tenant}/`)) return undefined;
  return { kind: 'expiry', shard, expiry, of: { actor: key.split('\0', 1)[0] as Address } };
}

const contextOf = (bytes: Uint8Array): unknown => decodeActorRow(bytes).row.snap.c;

async function inTime(trimmed: Promise<void>, shard: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new TroupeError('UNAVAILABLE', `shard ${shard} was not trimmed within ${TRIM_MS} ms`),
        ),
      TRIM_MS,
    );
  });
  try {
    await Promise.race([trimmed, late]);
  } finally {
    clearTimeout(timer);
  }
}
