/** scratch */
import { join } from 'node:path';
import { journalSubject } from '../protocols/subjects.ts';
import { openNats, openStateCache, systemClock } from '../runtime/index.ts';
import { loadShard, catchUp } from '../runtime/shard/recovery/load.ts';
import { restoreRows, sha256InTurns, snapshotPrefix } from '../runtime/shard/recovery/snapshot.ts';
import { Fold, TABLE } from '../runtime/shard/commit/fold.ts';
import { openIntents } from '../runtime/shard/turn/intents.ts';
import { decode } from '../protocols/codec.ts';
import { ENV, startServer } from './harness/cell.ts';
import { seedCounters } from './harness/seed.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const ms = (from: number) => Math.round(performance.now() - from);
for (const rows of process.argv.slice(2).map(Number)) {
  const folder = mkdtempSync('/tmp/seed-');
  const server = await startServer(folder);
  const ports = await openNats({
    servers: [server.url],
    name: 's',
    env: ENV,
    shards: 1,
    state: (cell) => openStateCache({ path: join(folder, 'c'), cell }),
    onAlarm: console.error,
  });
  let t = performance.now();
  await seedCounters(ports, rows);
  const seedMs = ms(t);
  const { log, state, cell } = ports.store;
  const { blobs } = ports;
  const [name] = await blobs.list(snapshotPrefix(cell, 0));
  t = performance.now();
  const bytes = (await blobs.get(name!))!;
  const getMs = ms(t);
  t = performance.now();
  await sha256InTurns(bytes);
  const hashMs = ms(t);
  t = performance.now();
  let n = 0;
  await restoreRows(0, bytes, async (puts) => {
    n += puts.length;
  });
  const decodeMs = ms(t);
  const h = monitorEventLoopDelay({ resolution: 5 });
  h.enable();
  t = performance.now();
  await restoreRows(0, bytes, (puts) => state.write(puts));
  const restoreMs = ms(t);
  await new Promise((r) => setTimeout(r, 600));
  h.disable();
  const journal = journalSubject(ENV, 0);
  t = performance.now();
  await state.clear(0);
  const clearMs = ms(t);
  t = performance.now();
  const cold = await loadShard({ log, state, blobs, journal, shard: 0, cell });
  const coldMs = ms(t);
  await catchUp(cold, state);
  await new Promise((r) => setTimeout(r, 600));
  t = performance.now();
  await loadShard({ log, state, blobs, journal, shard: 0, cell });
  const warmMs = ms(t);
  t = performance.now();
  const fold = Fold.fromState(0, state, true)!;
  openIntents(fold);
  for (const _ of fold.committedRows(TABLE.out)) {
  }
  const indexMs = ms(t);
  console.log({
    rows,
    n,
    mb: bytes.length / 1e6,
    seedMs,
    getMs,
    hashMs,
    decodeMs,
    restoreMs,
    delayP99: h.percentile(99) / 1e6,
    delayMax: h.max / 1e6,
    clearMs,
    coldMs,
    warmMs,
    indexMs,
  });
  await ports.store.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
