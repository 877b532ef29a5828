/**
 * The costs of the parts below the runtime, measured on the same machine and at the same time as a
 * scenario. They are its physical limits: a durable turn costs at least its decode, its transition,
 * its encode and its puts.
 *
 * Each cost is that of the fastest tenth of many short rounds: a limit is what the machine can do,
 * independent of other processes.
 */
import { randomFillSync } from 'node:crypto';
import { closeSync, fsyncSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, open } from 'lmdb';
import { type AnyActorScope, createEmptyActor, transition } from 'xstate';
import { decode, encode } from '../../protocols/codec.ts';
import type { Meta } from '../../protocols/statechart.ts';
import { HEADER_BYTES } from '../../runtime/shard/commit/record-format.ts';
import { encodeMail } from '../../runtime/shard/commit/records.ts';
import { FrameBuilder, frameEntryBytes, sealFrame } from '../../runtime/log/wal/frame.ts';
import { initialState, save } from '../../runtime/statechart/host.ts';
import { counterMachine } from './counter.ts';
import { median, percentile, spread } from './statistics.ts';
import { counterAddress } from './system.ts';

/** Microseconds each. */
export type RawCosts = {
  readonly decodeUs: number;
  /** `machine.transition` with a local actor scope: the fastest possible */
  readonly transitionUs: number;
  /** XState's public `transition()` */
  readonly publicTransitionUs: number;
  readonly encodeUs: number;
  /** one of many puts in one LMDB transaction, transactions back to back */
  readonly putUs: number;
};

/** Approximate time to measure each cost, milliseconds. */
export type RawTime = { readonly milliseconds: number };

type TurnBytes = { readonly message: number; readonly journal: number; readonly row: number };

/** Approximate bytes of a turn's names and numbers in a journal record. */
const TURN_BYTES = 100;
const ROUNDS = 50;
const QUICKEST = 0.1;
const to = counterAddress('raw');
const meta: Meta = { id: '0'.repeat(36), now: 1_700_000_000_000, self: to };

export async function rawCosts(folder: string, { milliseconds }: RawTime): Promise<RawCosts> {
  const { live } = initialState(
    counterMachine,
    { self: to, tenant: 'default', key: 'raw', now: 0 },
    meta,
  );
  const event = { type: 'add' as const, by: 1, meta };
  const scope = inertScope();
  const { snapshot } = live;
  const row = encode(save(live)).length;
  // The journal contains the row again, and the message of the turn.
  const bytes = { message: mail.length, journal: row + TURN_BYTES, row };
  const cost = (call: () => unknown) => costOf(call, milliseconds);
  return {
    decodeUs: cost(() => decode(mail, HEADER_BYTES)),
    transitionUs: cost(() => counterMachine.transition(snapshot as never, event, scope as never)),
    publicTransitionUs: cost(() => transition(counterMachine, snapshot as never, event)),
    encodeUs: cost(() => encode(save(live))),
    putUs: await putCost(folder, bytes, milliseconds),
  };
}

/** The sum of a turn's costs: one decode, one transition, one persist and encode, three puts. */
export const turnUs = ({ decodeUs, transitionUs, encodeUs, putUs }: RawCosts): number =>
  decodeUs + transitionUs + encodeUs + 3 * putUs;

/** A mailbox entry as an entry point writes it. */
const mail = encodeMail({
  kind: 'client',
  cell: '0'.repeat(32),
  item: {
    to,
    id: '0'.repeat(36),
    event: { type: 'add', by: 1 },
    hops: 0,
    principal: { sub: 'bench', roles: ['operator'] },
  },
  payloadHash: '',
  notAfter: meta.now,
  ttlMs: 300_000,
});

/** Microseconds of one call, from rounds that take `milliseconds` together. */
function costOf(call: () => unknown, milliseconds: number): number {
  const round = (calls: number) => {
    const begun = performance.now();
    for (let i = 0; i < calls; i++) call();
    return performance.now() - begun;
  };
  // Warm up, and find how many calls make a round.
  let calls = 16;
  const wanted = milliseconds / ROUNDS;
  while (round(calls) < wanted) calls *= 2;
  const rounds = Array.from({ length: ROUNDS }, () => round(calls));
  return (percentile(rounds, QUICKEST) / calls) * 1_000;
}

function inertScope(): AnyActorScope {
  const self = createEmptyActor();
  return {
    self,
    system: self.system,
    id: 'raw',
    sessionId: 'raw',
    logger: () => {},
    defer: () => {},
    stopChild: () => {},
    emit: () => {},
    actionExecutor: () => {},
  };
}

/** A bare LMDB environment with the settings of the embedded store. */
/** LMDB and nothing else. */
export const openRaw = (folder: string): Database<Buffer, Buffer> =>
  open<Buffer, Buffer>({
    path: join(folder, 'raw'),
    noSubdir: false,
    mapSize: 2 ** 30,
    eventTurnBatching: false,
    encoding: 'binary',
    keyEncoding: 'binary',
  });

const keyOf = (n: number): Buffer => {
  const key = Buffer.allocUnsafe(12);
  key.writeUInt32BE(0, 0);
  key.writeBigUInt64BE(BigInt(n), 4);
  return key;
};

/** Turns in a full group; the three puts of all of them are one transaction. */
const TURNS_PER_TRANSACTION = 256;
/** This number of turns have their own row; the others overwrite one. */
const ROWS = 64;

/**
 * The three rows of a turn with their real sizes: its message and its part of the journal at the
 * end of a log, and its actor's row, which replaces the previous one.
 */
async function putCost(folder: string, bytes: TurnBytes, milliseconds: number): Promise<number> {
  const rows = openRaw(folder);
  const [message, journal, row] = [bytes.message, bytes.journal, bytes.row].map((size) =>
    Buffer.alloc(size, 1),
  ) as [Buffer, Buffer, Buffer];
  let n = ROWS;
  const commit = async () => {
    const begun = performance.now();
    await rows.batch(() => {
      for (let turn = 0; turn < TURNS_PER_TRANSACTION; turn++) {
        void rows.put(keyOf(n++), message);
        void rows.put(keyOf(n++ + 2 ** 40), journal);
        void rows.put(keyOf(turn % ROWS), row);
      }
    });
    return performance.now() - begun;
  };
  const costs: number[] = [];
  const deadline = performance.now() + milliseconds;
  while (performance.now() < deadline || costs.length < ROUNDS) costs.push(await commit());
  await rows.close();
  // The first ones grow the file and warm up the code.
  const settled = costs.slice(Math.floor(costs.length / 4));
  return (percentile(settled, QUICKEST) / TURNS_PER_TRANSACTION / 3) * 1_000;
}

/** Milliseconds from the request of an LMDB transaction of one put until it is visible. */
export async function rawCommit(
  folder: string,
  count: number,
): Promise<{ p50: number; p99: number }> {
  const rows = openRaw(join(folder, 'commit'));
  const samples: number[] = [];
  for (let n = 0; n < count; n++) {
    const begun = performance.now();
    await rows.batch(() => void rows.put(keyOf(n), mail));
    samples.push(performance.now() - begun);
  }
  await rows.close();
  return spread(samples);
}

export type AppendPace = {
  /** frames in sequence; their total time is one sample */
  readonly inARow?: number;
  /** milliseconds from one sample to the next; default none */
  readonly everyMs?: number;
};

/**
 * Milliseconds to append frames of one mailbox entry each to a file, as durability `process` does.
 * At a low rate it takes longer than back to back, because caches get cold in between.
 */
export async function rawAppend(
  folder: string,
  count: number,
  { inARow = 1, everyMs = 0 }: AppendPace = {},
): Promise<{ p50: number; p99: number }> {
  const file = openSync(join(folder, `append-${inARow}-${everyMs}`), 'w');
  const subject = Buffer.from('mbx.local.0.data');
  const samples: number[] = [];
  for (let n = 0; n < count; n++) {
    const begun = performance.now();
    for (let i = 0; i < inARow; i++) {
      const frame = new FrameBuilder(frameEntryBytes(subject, mail.length));
      frame.entry(subject, n + 1, mail.length).set(mail);
      sealFrame(frame.bytes, n + 1, n);
      writeSync(file, frame.bytes);
    }
    const took = performance.now() - begun;
    samples.push(took);
    if (everyMs > took) await sleep(everyMs - took);
  }
  closeSync(file);
  return spread(samples);
}

/** Microseconds to read a row of `bytes` by its key, from `count` rows in random order. */
export async function rawGetUs(folder: string, count: number, bytes: number): Promise<number> {
  const rows = openRaw(join(folder, 'get'));
  const value = Buffer.alloc(bytes, 1);
  await rows.batch(() => {
    for (let n = 0; n < count; n++) void rows.put(keyOf(n), value);
  });
  const samples: number[] = [];
  for (let i = 0; i < 10_000; i++) {
    const key = keyOf(Math.floor(Math.random() * count));
    const begun = performance.now();
    rows.getBinary(key);
    samples.push((performance.now() - begun) * 1_000);
  }
  await rows.close();
  return spread(samples).p50;
}

/** Milliseconds to make 4 KiB at the end of a file durable. */
export function rawFsyncMs(folder: string, count: number): number {
  const file = openSync(join(folder, 'fsync'), 'a');
  const page = Buffer.alloc(4_096, 1);
  const samples: number[] = [];
  for (let n = 0; n < count; n++) {
    const begun = performance.now();
    writeSync(file, page);
    fsyncSync(file);
    samples.push(performance.now() - begun);
  }
  closeSync(file);
  return median(samples);
}

export type RowSizes = { readonly key: number; readonly value: number };

/** Disk bytes per row of a bare LMDB file with `count` rows written in random order of keys. */
export async function rawRowBytes(folder: string, count: number, sizes: RowSizes): Promise<number> {
  const path = join(folder, 'rows');
  const rows = openRaw(path);
  const value = Buffer.alloc(sizes.value, 1);
  for (let n = 0; n < count; n += TURNS_PER_TRANSACTION) {
    await rows.batch(() => {
      for (let i = n; i < Math.min(n + TURNS_PER_TRANSACTION, count); i++)
        void rows.put(randomFillSync(Buffer.alloc(sizes.key)), value);
    });
  }
  await rows.close();
  return (statSync(join(path, 'raw', 'data.mdb')).blocks * 512) / count;
}
