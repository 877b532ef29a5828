/**
 * Erasing: what an erasure does below the actors. It finds what is stored of a tenant, removes it
 * by turns of the shards and by trims of logs without an owner, and scrubs the disk.
 *
 * Every call may be repeated: what is gone already is no error. In a cluster, the process that
 * erases sends orders to the owners of the shards, and to every process for its local data.
 */
import { createHash } from 'node:crypto';
import { setImmediate as letOthersRun } from 'node:timers/promises';
import { type Address, address, parseAddress, shardOf } from '../protocols/address.ts';
import { decode } from '../protocols/codec.ts';
import { errorData, TroupeError } from '../protocols/errors.ts';
import type { ErasureReach, ErasureScrub } from '../protocols/erasure.ts';
import { SYSTEM_PRINCIPAL } from '../protocols/security/principals.ts';
import type { SysErase } from '../protocols/supervision.ts';
import {
  escapeToken,
  fullHistorySubject,
  parseSubject,
  transcriptSubject,
} from '../protocols/subjects.ts';
import { askOrThrow } from './ask-or-throw.ts';
import type { Blobs } from './blobs/blobs.ts';
import { systemClock } from './clock/clock.ts';
import { inTime } from './clock/in-time.ts';
import type { ScrubOrder, ScrubOrders } from './cluster/scrub-orders.ts';
import type { DeadLetterLog } from './dead-letters.ts';
import { removeFullTurns } from './history/full-turns.ts';
import type { Hosting } from './hosting.ts';
import { type Log, READ_LIMIT_DEFAULT } from './log/log.ts';
import type { State } from './state/state.ts';
import { TABLE } from './shard/commit/fold.ts';
import { encodeErased } from './shard/commit/erased-entry.ts';
import { ERASED_ROWS_MAX } from './shard/turn/erase-actor.ts';
import { decodeActorRow } from './shard/turn/actor-row.ts';
import type { Erasing, StoredRow } from './erasing-port.ts';
import type { System } from './system.ts';
import type { LogTranscripts } from './transcripts.ts';
import type { Workspaces } from './workspaces/workspaces.ts';

/** By stream, the last position of the files that are to be removed. */
export type StreamEnds = Readonly<Record<string, number>>;

/** What a store of several processes adds. Every call may be repeated. */
export interface ErasableStreams {
  /** Begins new files for the streams whose entries move. @throws TroupeError UNAVAILABLE */
  begin(): Promise<StreamEnds>;
  /**
   * Removes the files up to the ends. Called when every shard is trimmed behind them. Returns the
   * names of the streams that have nothing that was removed.
   * @throws TroupeError UNAVAILABLE when something else than a trimmed entry is left
   */
  finish(ends: StreamEnds, signal: AbortSignal): Promise<readonly string[]>;
}

/** What a store adds from whose files bytes can be removed. */
export type ErasableStore = {
  readonly subjects?: (prefix: string) => Iterable<string> | AsyncIterable<string>;
  /** of a single process: everything */
  readonly scrub?: () => Promise<void>;
  readonly streams?: ErasableStreams;
  /** of a process of a cluster: its own files; `erasures`: see `StateCache.scrub` */
  readonly scrubLocal?: (erasures: number) => Promise<void>;
  /** how many erasures the cell had when these files were opened */
  readonly erasuresAtOpening?: number;
};

type ErasingOptions = {
  readonly store: ErasableStore & { readonly log: Log; readonly state: Pick<State, 'dump'> };
  readonly env: string;
  readonly shards: number;
  readonly hosting: () => Hosting;
  readonly ask: System['ask'];
  readonly letters: Pick<DeadLetterLog, 'erase'>;
  readonly transcripts: Pick<LogTranscripts, 'forget' | 'forgetAll'>;
  readonly blobs: Pick<Blobs, 'put' | 'list'>;
  readonly workspaces?: Pick<Workspaces, 'dropCopies'> | undefined;
  /** in a cluster: sends orders to other processes */
  readonly orders: () => ScrubOrders | undefined;
};

const ASK_MS = 10_000;
const ASKS_MAX = 3;
const TRIM_MS = 60_000;
const ROWS_PER_TICK = 500;
/** A step of the work in a cluster ends after this time, so that its progress is kept. */
const STEP_MS = 1_500;
const SHARDS_AT_ONCE = 4;
/** Blobs that mark the erasures of a cell, one each. */
export const ERASURES_PREFIX = 'erasures/';
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
    await hosting().refreshed();
    let count = 0;
    for (let shard = 0; shard < shards; shard++)
      for (const { table, key, value } of store.state.dump(shard)) {
        if (++count % ROWS_PER_TICK === 0) await letOthersRun();
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

  async *transcripts(tenant: string): AsyncIterable<Address> {
    const { store, env } = this.#o;
    const prefix = `trn.${escapeToken(env)}.${escapeToken(tenant)}.`;
    for await (const name of store.subjects?.(prefix) ?? []) {
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

  async scrub(work: ErasureScrub, signal: AbortSignal): Promise<ErasureReach> {
    const { store, shards } = this.#o;
    if (store.streams) return this.#scrubCluster(store.streams, work, signal);
    for (let shard = 0; shard < shards; shard++) await this.#trim(work.tenant, shard);
    await store.scrub?.();
    return { ...nothingReached(shards), shards, isDone: true };
  }

  /**
   * Removes erased data from this process's own files and memory, as the erasing process orders.
   */
  async scrubLocal(): Promise<void> {
    const { hosting, transcripts, workspaces, store } = this.#o;
    await hosting().refreshed();
    transcripts.forgetAll();
    await workspaces?.dropCopies?.();
    await store.scrubLocal?.(await this.#erasures());
  }

  /** Repeats that for an erasure that ended while this process started and did not know it. */
  async started(): Promise<void> {
    const { scrubLocal, erasuresAtOpening } = this.#o.store;
    if (scrubLocal && (await this.#erasures()) !== erasuresAtOpening) await this.scrubLocal();
  }

  /** Carries out an order of the process that erases. */
  carryOut({ shard }: ScrubOrder): Promise<void> {
    return shard === undefined ? this.scrubLocal() : this.#o.hosting().trimmedAll(shard);
  }

  /** One step, of some seconds: new files, then shards, then streams, then processes. */
  async #scrubCluster(
    streams: ErasableStreams,
    work: ErasureScrub,
    signal: AbortSignal,
  ): Promise<ErasureReach> {
    const { shards } = this.#o;
    const reach = work.reach ?? nothingReached(shards);
    if (!reach.ends) return { ...reach, ends: await streams.begin() };
    if (reach.shards < shards) return this.#trimSome(work, reach, signal);
    if (reach.streams.length === 0)
      return { ...reach, streams: await streams.finish(reach.ends, signal) };
    return this.#scrubProcesses(work, reach, signal);
  }

  async #trimSome(
    work: ErasureScrub,
    reach: ErasureReach,
    signal: AbortSignal,
  ): Promise<ErasureReach> {
    const { shards: all } = this.#o;
    const untilMs = performance.now() + STEP_MS;
    let { shards } = reach;
    while (shards < all && performance.now() < untilMs) {
      signal.throwIfAborted();
      const next = Array.from({ length: Math.min(SHARDS_AT_ONCE, all - shards) }, (_, n) => n);
      try {
        await Promise.all(next.map((n) => this.#trimAtOwner(work, shards + n)));
      } catch (error) {
        if (shards > reach.shards) break;
        throw error;
      }
      shards += next.length;
    }
    return { ...reach, shards };
  }

  /** The blanks before the order are in the snapshot that the owner makes. */
  async #trimAtOwner(work: ErasureScrub, shard: number): Promise<void> {
    const { hosting, orders } = this.#o;
    await this.#putBlanks(work.tenant, shard);
    const owner = hosting().ownerOf(shard);
    if (owner === undefined)
      throw new TroupeError('UNAVAILABLE', `shard ${shard} has no owner at present`);
    await orders()!.send(owner, { id: `${orderName(work)}/${shard}`, shard });
  }

  /**
   * A process that starts from now on finds the mark, and empties what it kept from before. The
   * mark has the entry of the ledger.
   */
  async #scrubProcesses(
    work: ErasureScrub,
    reach: ErasureReach,
    signal: AbortSignal,
  ): Promise<ErasureReach> {
    const { hosting, orders, blobs } = this.#o;
    const { tenant, kind, id, who, requestedAt: at } = work;
    const entry = { tenant, kind, id, at, who };
    await blobs.put(`${ERASURES_PREFIX}${orderName(work)}`, Buffer.from(JSON.stringify(entry)));
    const next = hosting()
      .nodes()
      .filter(({ node }) => !reach.nodes.includes(node));
    if (next.length === 0) return { ...reach, isDone: true };
    const reached = { nodes: [...reach.nodes], processes: [...reach.processes] };
    for (const { node, name } of next) {
      signal.throwIfAborted();
      await orders()!.send(node, { id: orderName(work) });
      reached.nodes.push(node);
      if (!reached.processes.includes(name)) reached.processes.push(name);
    }
    return { ...reach, ...reached };
  }

  async #erasures(): Promise<number> {
    return (await this.#o.blobs.list(ERASURES_PREFIX)).length;
  }

  /** No trim removes the last entry of a mailbox, so these become the last ones. */
  async #putBlanks(tenant: string, shard: number): Promise<void> {
    const blank = this.#blank(tenant, shard);
    await this.#order(blank, { type: 'sys.erase' }, 'control');
    await this.#order(blank, { type: 'sys.erase' }, 'data');
  }

  async #trim(tenant: string, shard: number): Promise<void> {
    await this.#putBlanks(tenant, shard);
    const trimmed = this.#o.hosting().trimmedAll(shard);
    trimmed.catch(() => {});
    await this.#order(this.#blank(tenant, shard), { type: 'sys.erase' }, 'control');
    await inTime(systemClock, trimmed, TRIM_MS, notTrimmed(shard));
  }

  /** Asks again without an answer: the owner of the shard may have died with it. */
  async #order(actor: Address, message: SysErase, lane: 'control' | 'data'): Promise<void> {
    for (let asks = 1; ; asks++)
      try {
        await askOrThrow(this.#o, actor, message, {
          principal: SYSTEM_PRINCIPAL,
          timeoutMs: ASK_MS,
          lane,
          repeatable: true,
          timedOut: `${actor} has not answered yet: the erasure is tried again`,
        });
        return;
      } catch (error) {
        if (asks === ASKS_MAX || errorData(error).code !== 'DEADLINE_EXCEEDED') throw error;
      }
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

const nothingReached = (shardsAll: number): ErasureReach => ({
  shards: 0,
  shardsAll,
  streams: [],
  processes: [],
  nodes: [],
  isDone: false,
});

/** The same at each attempt, and another one for each erasure. */
const orderName = ({ tenant, kind, id, requestedAt }: ErasureScrub): string => {
  const target = createHash('sha256').update(`${tenant}/${kind}:${id}`).digest('hex');
  return `${requestedAt}-${target.slice(0, 24)}`;
};

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

const notTrimmed = (shard: number) => (): never => {
  throw new TroupeError('UNAVAILABLE', `shard ${shard} was not trimmed within ${TRIM_MS} ms`);
};
