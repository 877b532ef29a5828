/**
 * Load: how busy this process is, measured since the last time somebody asked, at least a second.
 */
import { performance } from 'node:perf_hooks';
import type { Clock } from '../clock/clock.ts';
import type { NodeLoad } from '../system.ts';

const MEASURE_MS = 1_000;

export type LoadSources = {
  readonly clock: Clock;
  /** turns that were committed here, ever */
  readonly turns: () => number;
  /** effects that run here */
  readonly effects: () => number;
};

export class LoadMeter {
  readonly #o: LoadSources;
  #atMs: number;
  #cpu = process.cpuUsage();
  #loop = performance.eventLoopUtilization();
  #turns: number;
  #last: NodeLoad;

  constructor(options: LoadSources) {
    this.#o = options;
    this.#atMs = options.clock.monotonicMs();
    this.#turns = options.turns();
    this.#last = { cpu: 0, eventLoop: 0, turnsPerSecond: 0, ...this.#present() };
  }

  read(): NodeLoad {
    const elapsedMs = this.#o.clock.monotonicMs() - this.#atMs;
    if (elapsedMs < MEASURE_MS) return this.#last;
    const { user, system } = process.cpuUsage(this.#cpu);
    const loop = performance.eventLoopUtilization();
    const turns = this.#o.turns();
    this.#last = {
      cpu: (user + system) / 1_000 / elapsedMs,
      eventLoop: performance.eventLoopUtilization(loop, this.#loop).utilization,
      turnsPerSecond: ((turns - this.#turns) * 1_000) / elapsedMs,
      ...this.#present(),
    };
    this.#atMs += elapsedMs;
    this.#cpu = process.cpuUsage();
    this.#loop = loop;
    this.#turns = turns;
    return this.#last;
  }

  #present(): Pick<NodeLoad, 'effects' | 'rssBytes'> {
    return { effects: this.#o.effects(), rssBytes: process.memoryUsage.rss() };
  }
}
