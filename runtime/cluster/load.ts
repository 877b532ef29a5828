/** Load: how busy this process is since the last measurement, over at least a second. */
import { performance } from 'node:perf_hooks';
import type { Clock } from '../clock/clock.ts';
import type { NodeLoad } from '../system.ts';

const MEASURE_MS = 1_000;

export type LoadSources = {
  readonly clock: Clock;
  /** turns of the shards that this process owns */
  readonly turns: () => readonly { readonly shard: number; readonly turnNo: number }[];
  /** effects that run here */
  readonly effects: () => number;
};

export class LoadMeter {
  readonly #o: LoadSources;
  #atMs: number;
  #cpu = process.cpuUsage();
  #loop = performance.eventLoopUtilization();
  /** by shard, when it was measured last */
  #turns = new Map<number, number>();
  #last: NodeLoad;

  constructor(options: LoadSources) {
    this.#o = options;
    this.#atMs = options.clock.monotonicMs();
    this.#last = { cpu: 0, eventLoop: 0, turnsPerSecond: 0, ...this.#present() };
  }

  read(): NodeLoad {
    const elapsedMs = this.#o.clock.monotonicMs() - this.#atMs;
    if (elapsedMs < MEASURE_MS) return this.#last;
    const { user, system } = process.cpuUsage(this.#cpu);
    const loop = performance.eventLoopUtilization();
    this.#last = {
      cpu: (user + system) / 1_000 / elapsedMs,
      eventLoop: performance.eventLoopUtilization(loop, this.#loop).utilization,
      turnsPerSecond: (this.#newTurns() * 1_000) / elapsedMs,
      ...this.#present(),
    };
    this.#atMs += elapsedMs;
    this.#cpu = process.cpuUsage();
    this.#loop = loop;
    return this.#last;
  }

  /** Counts only shards that were owned at the last measurement, too; a new one has older turns. */
  #newTurns(): number {
    const before = this.#turns;
    this.#turns = new Map(this.#o.turns().map(({ shard, turnNo }) => [shard, turnNo]));
    let sum = 0;
    for (const [shard, turnNo] of this.#turns) sum += turnNo - (before.get(shard) ?? turnNo);
    return sum;
  }

  #present(): Pick<NodeLoad, 'effects' | 'rssBytes'> {
    return { effects: this.#o.effects(), rssBytes: process.memoryUsage.rss() };
  }
}
