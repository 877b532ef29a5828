/**
 * Agents that start subagents, and agents that exchange replies, in a cluster: `spawn` and
 * `pingpong` through the built program as one gateway and 1, 2 and 3 workers on one nats-server.
 */
import { join } from 'node:path';
import { memoryOf, processorTimeOf } from './harness/computer.ts';
import { configurePairs, exchange, type Exchanged } from './harness/pairs.ts';
import { openProgramCell, type ProgramCell } from './harness/program-cell.ts';
import { defineScenario, ofOneToThree, type Repeat } from './harness/scenario.ts';
import { account, configureTrees, grow, sizeOf, SMALL_TREE, TREE } from './harness/tree.ts';
import { PAIRS, turnsOf } from './pingpong.ts';

const workersMs = ({ pids }: ProgramCell): number =>
  pids.workers.reduce((sum, pid) => sum + processorTimeOf(pid).allMs, 0);
const workersBytes = ({ pids }: ProgramCell): number =>
  pids.workers.reduce((sum, pid) => sum + memoryOf(pid, 'RssAnon') * 1e6, 0);

export const clusterSpawn = defineScenario({
  name: 'cluster-spawn',
  question: 'how many subagents a second start, work and report on 1, 2 and 3 workers on NATS?',
  needsProgram: true,
  secondsMax: 900,
  figures: {
    spawnsOf1: { label: 'subagents of a tree, 1 worker', unit: '1/s' },
    spawnsOf2: { label: '  2 workers', unit: '1/s' },
    spawnsOf3: { label: '  3 workers', unit: '1/s' },
    workersOf1Ms: { label: 'processor time of a subagent, the worker of 1', unit: 'ms' },
    workersOf3Ms: { label: '  the workers of 3', unit: 'ms' },
    memoryOf1Bytes: { label: 'private memory grown by a subagent, the worker of 1', unit: 'bytes' },
    memoryOf2Bytes: { label: '  the workers of 2', unit: 'bytes' },
    memoryOf3Bytes: { label: '  the workers of 3', unit: 'bytes' },
  },
  async measure(repeat) {
    const [one, two, three] = await ofOneToThree(repeat, (workers) => trees(repeat, workers));
    return {
      spawnsOf1: one.perSecond,
      spawnsOf2: two.perSecond,
      spawnsOf3: three.perSecond,
      workersOf1Ms: one.workersMs,
      workersOf3Ms: three.workersMs,
      memoryOf1Bytes: one.bytes,
      memoryOf2Bytes: two.bytes,
      memoryOf3Bytes: three.bytes,
    };
  },
});

/** A small tree for the warm-up, then a large one. */
async function trees({ folder, pick, scale }: Repeat, workers: number) {
  const shape = pick(TREE, TREE, SMALL_TREE);
  const own = { folder: join(folder, `of-${workers}`), scale };
  const cell = await openProgramCell(own, workers, configureTrees);
  const client = await cell.gateway.connect();
  await grow(client, 'warm', SMALL_TREE);
  const before = { ms: workersMs(cell), bytes: workersBytes(cell) };
  const seconds = await grow(client, 'tree', shape);
  const used = { ms: workersMs(cell) - before.ms, bytes: workersBytes(cell) - before.bytes };
  await account(cell.gateway, client, 'tree', shape);
  client.close();
  await cell.stop();
  const size = sizeOf(shape);
  return {
    perSecond: size / seconds,
    workersMs: used.ms / size,
    bytes: Math.max(0, used.bytes) / size,
  };
}

export const clusterPingpong = defineScenario({
  name: 'cluster-pingpong',
  question: 'how many turns a second do pairs of agents exchange on 1, 2 and 3 workers on NATS?',
  needsProgram: true,
  secondsMax: 600,
  figures: {
    turnsOf1: { label: `turns of ${PAIRS} pairs at once, 1 worker`, unit: '1/s' },
    turnsOf2: { label: '  2 workers', unit: '1/s' },
    turnsOf3: { label: '  3 workers', unit: '1/s' },
    aloneP50Ms: { label: 'one turn of one pair alone, 1 worker, p50', unit: 'ms' },
    aloneP99Ms: { label: '  p99', unit: 'ms' },
    aloneOf3P50Ms: { label: '  3 workers, p50', unit: 'ms' },
    aloneOf3P99Ms: { label: '  p99', unit: 'ms' },
  },
  async measure(repeat) {
    const [one, two, three] = await ofOneToThree(repeat, (workers) => turns(repeat, workers));
    return {
      turnsOf1: one.perSecond,
      turnsOf2: two.perSecond,
      turnsOf3: three.perSecond,
      aloneP50Ms: one.alone.p50,
      aloneP99Ms: one.alone.p99,
      aloneOf3P50Ms: three.alone.p50,
      aloneOf3P99Ms: three.alone.p99,
    };
  },
});

async function turns({ folder, pick, scale }: Repeat, workers: number) {
  const pairs = pick(PAIRS, PAIRS, 2);
  const own = { folder: join(folder, `of-${workers}`), scale };
  const cell = await openProgramCell(own, workers, (its) => configurePairs(its, pairs));
  const client = await cell.gateway.connect();
  const rounds = async (count: number, of: number): Promise<Exchanged[]> => {
    const all: Exchanged[] = [];
    for (let round = 0; round < count; round++) all.push(await exchange(cell.gateway, client, of));
    return all;
  };
  await rounds(1, pairs);
  const { perSecond } = turnsOf(await rounds(pick(4, 2, 1), pairs));
  const alone = turnsOf(await rounds(pick(15, 5, 1), 1));
  client.close();
  await cell.stop();
  return { perSecond, alone };
}
