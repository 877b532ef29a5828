/**
 * The steps of a take-over, by the rows of the shard, in one process with a real nats-server and by
 * the runtime's own functions: what a worker does that has no row of the shard, and one that has a
 * warm copy. Not included: detecting that the owner is dead, which `cluster-failover` contains.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { journalSubject } from '../protocols/subjects.ts';
import { openNats, openStateCache } from '../runtime/index.ts';
import { catchUp, loadShard } from '../runtime/shard/recovery/load.ts';
import { restoreRows, sha256InTurns, snapshotPrefix } from '../runtime/shard/recovery/snapshot.ts';
import { ENV, startServer } from './harness/cell.ts';
import { defineScenario, type FigureSpec } from './harness/scenario.ts';
import { seedCounters } from './harness/seed.ts';

const SIZES = [10_000, 50_000, 125_000, 333_000];

/** By size. */
const table: Readonly<Record<string, FigureSpec>> = {
  SnapshotMb: { label: 'snapshot', unit: 'MB' },
  GetMs: { label: '  read from the blobs', unit: 'ms' },
  HashMs: { label: '  check its hash', unit: 'ms' },
  DecodeMs: { label: '  decode its rows', unit: 'ms' },
  ColdMs: { label: 'load the shard without rows, all of it', unit: 'ms' },
  WarmMs: { label: 'load the shard with a warm copy', unit: 'ms' },
  FenceMs: { label: 'append of the EPOCH record', unit: 'ms' },
};

export const clusterTakeover = defineScenario({
  name: 'cluster-takeover',
  question: 'how long does each step of a take-over take with 10,000 to 333,000 rows?',
  secondsMax: 600,
  figures: Object.fromEntries(
    SIZES.flatMap((rows) =>
      Object.entries(table).map(([figure, { label, unit }]) => [
        `r${rows / 1_000}e3${figure}`,
        { label: `${rows.toLocaleString('en')} rows: ${label.trim()}`, unit },
      ]),
    ),
  ),
  async measure({ folder, pick }) {
    const figures: Record<string, number> = {};
    for (const rows of SIZES) {
      const measured = await steps(join(folder, String(rows)), pick(rows, rows / 10, rows / 100));
      for (const [figure, value] of Object.entries(measured))
        figures[`r${rows / 1_000}e3${figure}`] = value;
    }
    return figures;
  },
});

/** A cell of one shard whose rows are a snapshot, and an empty folder of rows. */
async function steps(folder: string, rows: number) {
  const server = await startServer(folder);
  const ports = await openNats({
    servers: [server.url],
    name: 'taker',
    env: ENV,
    shards: 1,
    state: (cell) => openStateCache({ path: join(folder, 'rows'), cell }),
    onAlarm: (what) => console.error(`bench: ${what}`),
  });
  const { blobs, store } = ports;
  const { log, state, cell } = store;
  await seedCounters(ports, rows);
  const [name = ''] = await blobs.list(snapshotPrefix(cell, 0));
  const [bytes, GetMs] = await timed(async () => (await blobs.get(name)) ?? new Uint8Array(0));
  const [, HashMs] = await timed(() => sha256InTurns(bytes));
  const [, DecodeMs] = await timed(() => restoreRows(0, bytes, async () => {}));
  const journal = journalSubject(ENV, 0);
  const from = { log, state, blobs, journal, shard: 0, cell };
  const [loaded, ColdMs] = await timed(() => loadShard(from));
  await catchUp(loaded, state);
  // The last rows reach the disk.
  await sleep(1_000);
  const [{ last }, WarmMs] = await timed(() => loadShard(from));
  // Of the size of an EPOCH record; the cell is not used after it.
  const record = new Uint8Array(150);
  const [, FenceMs] = await timed(() => log.append(journal, record, { expectedLast: last }));
  await store.close();
  await server.stop();
  return { SnapshotMb: bytes.length / 1e6, GetMs, HashMs, DecodeMs, ColdMs, WarmMs, FenceMs };
}

async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const begun = performance.now();
  const result = await work();
  return [result, performance.now() - begun];
}
