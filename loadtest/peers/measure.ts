/** Measures a peer: one ask at a time, then 64 at once. */
import { TroupeError } from '../../protocols/errors.ts';
import { newHistogram, percentileMs, record } from '../histograms.ts';
import { COUNTERS, type Peer } from './peer.ts';
import { processTree, US_PER_TICK } from './process-tree.ts';

export type PeerFigures = {
  /** one ask at a time, ms */
  readonly aloneP50Ms: number;
  readonly aloneP99Ms: number;
  /** 64 at once, each with a counter of its own */
  readonly asksPerSecond: number;
  readonly busyP50Ms: number;
  readonly busyP99Ms: number;
  /**
   * processor time of one ask with 64 at once, of this process and of the server, µs; Linux only
   */
  readonly processUs: number;
  readonly serverUs: number | undefined;
  /** asks that were measured and checked */
  readonly asks: number;
};

const WARM_UP_MS = 2_000;

/** @throws TroupeError INTERNAL when a counter does not count each ask once */
export async function measurePeer(peer: Peer, secondsEach: number): Promise<PeerFigures> {
  const counts = Array.from({ length: COUNTERS }, () => 0);
  const add = async (counter: number) => {
    const value = await peer.add(counter);
    const expected = ++counts[counter]!;
    if (value !== expected)
      throw new TroupeError('INTERNAL', `counter ${counter} is ${value}, not ${expected}`);
  };
  await asking(add, COUNTERS, WARM_UP_MS);
  const alone = await asking(add, 1, secondsEach * 1_000);
  const before = { own: process.cpuUsage(), server: ticksOf(peer.server) };
  const busy = await asking(add, COUNTERS, secondsEach * 1_000);
  const own = process.cpuUsage(before.own);
  const server = ticksOf(peer.server);
  const serverTicks =
    server === undefined || before.server === undefined ? undefined : server - before.server;
  return {
    aloneP50Ms: percentileMs(alone.latency, 50),
    aloneP99Ms: percentileMs(alone.latency, 99),
    asksPerSecond: busy.asks / busy.seconds,
    busyP50Ms: percentileMs(busy.latency, 50),
    busyP99Ms: percentileMs(busy.latency, 99),
    processUs: (own.user + own.system) / busy.asks,
    serverUs: serverTicks === undefined ? undefined : (serverTicks * US_PER_TICK) / busy.asks,
    asks: alone.asks + busy.asks,
  };
}

/** Each lane has a counter of its own and one ask in flight; a lane alone uses them in turn. */
async function asking(add: (counter: number) => Promise<void>, lanes: number, ms: number) {
  const latency = newHistogram();
  const begun = performance.now();
  let asks = 0;
  const lane = async (counter: number) => {
    for (let n = 0; performance.now() - begun < ms; n++) {
      const asked = performance.now();
      await add(lanes === 1 ? n % COUNTERS : counter);
      record(latency, performance.now() - asked);
      asks++;
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, n) => lane(n)));
  return { latency, asks, seconds: (performance.now() - begun) / 1_000 };
}

/** Processor time of a process and those that it started. undefined: none, or not on Linux. */
function ticksOf(pid: number | undefined): number | undefined {
  if (pid === undefined) return undefined;
  const { ids, ticks } = processTree(pid);
  return ids.length === 0 ? undefined : ticks;
}
