/**
 * The load of the processes during a test, sampled once a second: of this one, and of the target as
 * its `GET /metrics` says, if the token may read it.
 */
import { cpus } from 'node:os';
import { type EventLoopUtilization, monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { type Metrics, metricsOf } from './prometheus.ts';
import type { Usage } from './report.ts';
import type { Target } from './target.ts';

const METRICS_MS_MAX = 5_000;

export type Sample = {
  readonly processes: Record<string, Usage>;
  /** busy share of all cores of this machine, 0 to 1 */
  readonly machine: number;
};

export class UsageSampler {
  readonly #target: Target;
  /** the name of the target's process in samples */
  readonly #name: string;
  readonly #own = new OwnUsage();
  readonly #machine = new MachineUsage();
  #before: { readonly metrics: Metrics; readonly atMs: number } | undefined;
  /** why the target's metrics cannot be read; undefined: they can, or were not read yet */
  unreadable: string | undefined;

  constructor(target: Target, name: string) {
    this.#target = target;
    this.#name = name;
  }

  /** Of the time since the last sample. Never throws. */
  async sample(): Promise<Sample> {
    const client = this.#own.sample();
    const machine = this.#machine.sample();
    const target = await this.#targetUsage();
    return { processes: { client, ...(target && { [this.#name]: target }) }, machine };
  }

  close(): void {
    this.#own.close();
  }

  async #targetUsage(): Promise<Usage | undefined> {
    const metrics = await this.#read();
    const atMs = performance.now();
    const before = this.#before;
    if (metrics === undefined) return undefined;
    this.#before = { metrics, atMs };
    return before && usageBetween(before.metrics, metrics, (atMs - before.atMs) / 1_000);
  }

  async #read(): Promise<Metrics | undefined> {
    const { secret } = this.#target;
    const headers: Record<string, string> =
      secret === undefined ? {} : { authorization: `Bearer ${secret}` };
    const signal = AbortSignal.timeout(METRICS_MS_MAX);
    try {
      const answer = await this.#target.metrics(headers, signal);
      this.unreadable = answer.status === 200 ? undefined : `status ${answer.status}`;
      return answer.status === 200 ? metricsOf(answer.text) : undefined;
    } catch (error) {
      this.unreadable = signal.aborted ? 'no answer' : (error as Error).message;
      return undefined;
    }
  }
}

function usageBetween(before: Metrics, now: Metrics, seconds: number): Usage {
  const grown = (name: string) => {
    const [from, to] = [before.get(name), now.get(name)];
    return from === undefined || to === undefined || to < from ? undefined : to - from;
  };
  const cpuSeconds = grown('process_cpu_seconds_total');
  const activeSeconds = grown('troupe_event_loop_active_seconds_total');
  const delaySeconds = now.get('nodejs_eventloop_lag_max_seconds');
  const memory = now.get('process_resident_memory_bytes');
  const acks = grown('troupe_ack_ms_count');
  const ackMs = grown('troupe_ack_ms_sum');
  return {
    ...(cpuSeconds !== undefined && { cpu: cpuSeconds / seconds }),
    ...(activeSeconds !== undefined && { eventLoop: Math.min(1, activeSeconds / seconds) }),
    ...(delaySeconds !== undefined && { eventLoopDelayMs: delaySeconds * 1_000 }),
    ...(memory !== undefined && { memoryBytes: Math.round(memory) }),
    ...(acks !== undefined && acks > 0 && ackMs !== undefined && { storeMs: ackMs / acks }),
  };
}

/** Of the load generator. */
class OwnUsage {
  readonly #delay = monitorEventLoopDelay({ resolution: 10 });
  #cpu = process.cpuUsage();
  #loop: EventLoopUtilization = performance.eventLoopUtilization();
  #atMs = performance.now();

  constructor() {
    this.#delay.enable();
  }

  sample(): Usage {
    const { user, system } = process.cpuUsage(this.#cpu);
    const { utilization } = performance.eventLoopUtilization(this.#loop);
    const seconds = (performance.now() - this.#atMs) / 1_000;
    const usage = {
      cpu: (user + system) / 1e6 / Math.max(0.001, seconds),
      eventLoop: utilization,
      // the monitor counts its own interval
      eventLoopDelayMs: Math.max(0, this.#delay.max / 1e6 - 10),
      memoryBytes: process.memoryUsage.rss(),
    };
    this.#delay.reset();
    this.#cpu = process.cpuUsage();
    this.#loop = performance.eventLoopUtilization();
    this.#atMs = performance.now();
    return usage;
  }

  close(): void {
    this.#delay.disable();
  }
}

/** Of all cores of this machine. */
class MachineUsage {
  #before = cpuTimes();

  /** 0 on systems that do not say. */
  sample(): number {
    const now = cpuTimes();
    const all = now.all - this.#before.all;
    const idle = now.idle - this.#before.idle;
    this.#before = now;
    return all > 0 ? Math.max(0, 1 - idle / all) : 0;
  }
}

function cpuTimes(): { readonly all: number; readonly idle: number } {
  let [all, idle] = [0, 0];
  for (const { times } of cpus()) {
    idle += times.idle;
    all += times.idle + times.user + times.nice + times.sys + times.irq;
  }
  return { all, idle };
}
