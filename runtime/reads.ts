/**
 * Reads: committed state for lists, pages and tools, without activating an actor. Embedded reads
 * are never stale, because rows are written in the transaction of their journal record.
 */
import { setImmediate as letOthersRun } from 'node:timers/promises';
import { type Address, shardOf } from '../protocols/address.ts';
import { decode } from '../protocols/codec.ts';
import { decodeActorRow } from './shard/turn/actor-row.ts';
import { TABLE } from './shard/commit/fold.ts';
import { decodeIntent, type Intent } from './shard/turn/intents.ts';
import { fieldReader } from './state/fields.ts';
import { compareUtf8 } from './state/row.ts';
import type { ReadableState } from './state/checked-reads.ts';
import type { Index, IndexRow, System, UnknownEffect } from './system.ts';

const LIST_MAX = 1_000;
/** Rows that a scan reads before it yields to other work: about 2 ms. */
const SCAN_PIECE = 1_000;
/** Greater than every character a key may hold. */
const AFTER_ALL = '\u{10FFFF}';

export function createIndex(state: ReadableState, shards: number): Index {
  const all = Array.from({ length: shards }, (_, shard) => shard);
  return {
    get<V>(index: string, tenant: string, key: string, of?: Address): V | undefined {
      for (const shard of of === undefined ? all : [shardOf(of, shards)]) {
        const row = rowIn<V>(state, shard, { index, tenant, key });
        if (row !== undefined) return row;
      }
      return undefined;
    },
    list<V>(
      index: string,
      tenant: string,
      options: { prefix?: string; after?: string; limit?: number } = {},
    ) {
      const { prefix = '', after, limit = LIST_MAX } = options;
      const from =
        after === undefined || after < prefix ? `${tenant}|${prefix}` : `${tenant}|${after}\0`;
      const to = `${tenant}|${prefix}${AFTER_ALL}`;
      const rows = all.flatMap((shard) => state.range(shard, `ix:${index}`, { from, to, limit }));
      rows.sort((a, b) => compareUtf8(a.key, b.key));
      return rows.slice(0, limit).map(
        ({ key, value }): IndexRow<V> => ({
          key: key.slice(tenant.length + 1),
          value: decode<V>(value),
        }),
      );
    },
    async scan<V, F extends keyof V & string>(
      index: string,
      tenant: string,
      { prefix = '', fields }: { readonly prefix?: string; readonly fields: readonly F[] },
      visit: (row: Pick<V, F>) => void,
    ) {
      const read = fieldReader(fields);
      const show = (bytes: Uint8Array) => visit(read(bytes) as Pick<V, F>);
      const to = `${tenant}|${prefix}${AFTER_ALL}`;
      for (const shard of all) {
        let from: string | undefined = `${tenant}|${prefix}`;
        while (from !== undefined) {
          const last = state.scan(shard, `ix:${index}`, { from, to, limit: SCAN_PIECE }, show);
          from = last === undefined ? undefined : `${last}\0`;
          await letOthersRun();
        }
      }
    },
  };
}

/** One index row of an actor whose shard is known. */
export function rowIn<V>(
  state: ReadableState,
  shard: number,
  row: { readonly index: string; readonly tenant: string; readonly key: string },
): V | undefined {
  const bytes = state.get(shard, `ix:${row.index}`, `${row.tenant}|${row.key}`);
  return bytes && decode<V>(bytes);
}

export function inspectActor(
  state: ReadableState,
  shards: number,
  actor: Address,
): ReturnType<System['inspect']> {
  const bytes = state.get(shardOf(actor, shards), TABLE.actor, actor);
  if (!bytes) return undefined;
  const { machine, status, row } = decodeActorRow(bytes);
  return {
    machine,
    status: status === 'active' && row.snap.s !== 'active' ? row.snap.s : status,
    value: row.snap.v,
    context: row.snap.c,
  };
}

/** Domains of dead letters of machines; a domain of several shards is returned several times. */
export function* listDomains(state: ReadableState, shards: number): Iterable<string> {
  for (let shard = 0; shard < shards; shard++)
    for (const { key } of state.range(shard, TABLE.domain, { limit: 10_000 })) yield key;
}

export function listUnknown(state: ReadableState, shards: number): readonly UnknownEffect[] {
  const unknown: UnknownEffect[] = [];
  for (let shard = 0; shard < shards; shard++) {
    for (const { key, value } of state.range(shard, TABLE.intent, { limit: 10_000 })) {
      const { actor, src, attempt, at, input, state: now } = decodeIntent(value);
      if (now === 'unknown') unknown.push({ id: key, actor, effect: src, attempt, at, input });
    }
  }
  return unknown;
}

/** The effect with this id, if it has no outcome yet. */
export function openIntent(state: ReadableState, shards: number, id: string): Intent | undefined {
  for (let shard = 0; shard < shards; shard++) {
    const bytes = state.get(shard, TABLE.intent, id);
    if (bytes) return decodeIntent(bytes);
  }
  return undefined;
}
