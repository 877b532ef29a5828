/**
 * How many messages a second pass from actor to actor in a cluster of 1, 2 and 3 workers on one
 * nats-server. 64 relays in a ring over 8 shards pass balls on, as in `hop`. The process that sends
 * them is a gateway, so every first message also travels over NATS. A hop is a message that was
 * stored in its receiver's mailbox, read from it and committed by a journal record.
 */
import { join } from 'node:path';
import type { System } from '../runtime/index.ts';
import { openNode, type Server, spreadOver, startServer, startWorker } from './harness/cell.ts';
import { processorTimeOf } from './harness/computer.ts';
import { rawRates, taken } from './harness/raw-nats.ts';
import { defineScenario, ofOneToThree, type Repeat } from './harness/scenario.ts';
import { inParallel, SHARDS } from './harness/system.ts';
import { HOPS, thrower } from './harness/thrower.ts';

const WIDTH = 1_024;
/** Approximate share of a hop in a mailbox entry, and the size of a raw message. */
const HOP_BYTES = 256;

export const cluster = defineScenario({
  name: 'cluster',
  question: 'how many durable messages a second go from actor to actor over 1, 2 and 3 workers?',
  secondsMax: 240,
  figures: {
    hopsOf1: { label: 'hops, 1 worker', unit: '1/s', limit: 'publishPerSecond' },
    hopsOf2: { label: 'hops, 2 workers', unit: '1/s', limit: 'publishPerSecond' },
    hopsOf3: { label: 'hops, 3 workers', unit: '1/s', limit: 'publishPerSecond' },
    ofPublish: { label: '  the best of them, of the raw publish rate', unit: 'ratio' },
    workerUs: { label: 'processor time of a hop: the worker (of 1)', unit: 'µs' },
    serverUs: { label: '  nats-server', unit: 'µs' },
    gatewayUs: { label: '  the gateway that sends and has a replica of all rows', unit: 'µs' },
    hopsOfRecord: { label: '  hops in a journal record (of 1)', unit: 'hops' },
    hopsOfEntry: { label: '  hops in a mailbox entry (of 1)', unit: 'hops' },
    workersOf3Us: { label: '  the workers (of 3)', unit: 'µs' },
    serverOf3Us: { label: '  nats-server (of 3)', unit: 'µs' },
    hopsOfRecordOf3: { label: '  hops in a journal record (of 3)', unit: 'hops' },
    hopsOfEntryOf3: { label: '  hops in a mailbox entry (of 3)', unit: 'hops' },
    publishPerSecond: { label: 'raw: publish with dedupe, 256 in flight', unit: '1/s' },
    consumePerSecond: { label: 'raw: ordered consume', unit: '1/s' },
    fencedPerSecond: { label: 'raw: fenced append, one each of 64 subjects', unit: '1/s' },
  },
  async measure(repeat) {
    const { folder, pick } = repeat;
    const server = await startServer(folder);
    const raw = await rawRates(server.url, pick(40_000, 20_000, 640), HOP_BYTES);
    await server.stop();
    const [one, two, three] = await ofOneToThree(repeat, (workers) => hops(repeat, workers));
    return {
      hopsOf1: one.perSecond,
      hopsOf2: two.perSecond,
      hopsOf3: three.perSecond,
      ofPublish: Math.max(one.perSecond, two.perSecond, three.perSecond) / raw.publishPerSecond,
      workerUs: one.workersUs,
      serverUs: one.serverUs,
      gatewayUs: one.gatewayUs,
      hopsOfRecord: one.hopsOfRecord,
      hopsOfEntry: one.hopsOfEntry,
      workersOf3Us: three.workersUs,
      serverOf3Us: three.serverUs,
      hopsOfRecordOf3: three.hopsOfRecord,
      hopsOfEntryOf3: three.hopsOfEntry,
      ...raw,
    };
  },
});

/** In a new cell with this number of workers. */
export async function hops({ folder, pick }: Repeat, workers: number) {
  const own = join(folder, `of-${workers}`);
  const server = await startServer(own);
  const node = { url: server.url, shards: SHARDS, folder: own };
  const names = Array.from({ length: workers }, (_, at) => `w${at + 1}`);
  const processes = await Promise.all(names.map((name) => startWorker({ ...node, name })));
  const system = await openNode({ ...node, role: 'gateway', name: 'gateway' });
  await spreadOver(system, workers, SHARDS);
  const pids = processes.map(({ pid }) => pid);
  const balls = pick(4_000, 1_500, 10);
  const result = await measured(system, server, pids, balls);
  await Promise.all(processes.map((one) => one.stop()));
  await system.stop();
  await server.stop();
  return result;
}

async function measured(system: System, server: Server, workers: readonly number[], count: number) {
  const balls = thrower(system);
  await inParallel(count, WIDTH, balls.pass);
  const used = () => ({
    workers: workers.reduce((sum, pid) => sum + processorTimeOf(pid).allMs, 0),
    server: processorTimeOf(server.pid).allMs,
    gateway: processorTimeOf(process.pid).allMs,
  });
  const [mail, journal] = await Promise.all([
    taken(server.url, 'mail'),
    taken(server.url, 'journal'),
  ]);
  const before = used();
  const begun = performance.now();
  await inParallel(count, WIDTH, balls.pass);
  const seconds = (performance.now() - begun) / 1_000;
  const after = used();
  balls.close();
  const all = count * (HOPS + 1);
  const records = (await taken(server.url, 'journal')) - journal;
  const entries = (await taken(server.url, 'mail')) - mail;
  return {
    perSecond: all / seconds,
    hopsOfRecord: all / records,
    hopsOfEntry: all / entries,
    workersUs: ((after.workers - before.workers) * 1_000) / all,
    serverUs: ((after.server - before.server) * 1_000) / all,
    gatewayUs: ((after.gateway - before.gateway) * 1_000) / all,
  };
}
