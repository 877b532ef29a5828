/**
 * Load: the clients of the simulation on a real cell, by real time, and probes: actors, one in each
 * shard, that are asked on and on to see from outside when a shard takes turns again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Address, address, shardOf } from '../../protocols/address.ts';
import type { Auditor, Request } from '../../test/sim/auditor.ts';
import type { Random } from '../../test/sim/random.ts';
import { runClient, Workload } from '../../test/sim/workload.ts';
import type { FaultCell } from './cell.ts';

export type LoadOptions = {
  readonly cell: FaultCell;
  readonly auditor: Auditor;
  readonly random: Random;
  readonly clients: number;
  readonly pauseMsMax: number;
  /** some messages kill the process that runs them, where a worker allows it */
  readonly killers?: boolean;
};

const TENANTS = ['t', 'u'];
const KEYS = 4;

export class Load {
  #untilMs = Number.POSITIVE_INFINITY;
  readonly #ended: Promise<unknown>;

  /** Clients begin at once. */
  constructor({ cell, auditor, random, clients, pauseMsMax, killers = false }: LoadOptions) {
    const plan = { keys: KEYS, clients, requestsPerClient: 0, killers, tenants: TENANTS };
    const workload = new Workload(random.fork('workload'), plan);
    const clock = { monotonicMs: () => performance.now(), sleep: (ms: number) => sleep(ms) };
    const untilMs = () => this.#untilMs;
    const client = (name: string) =>
      runClient({
        name,
        random: random.fork(name),
        clock,
        workload,
        auditor,
        worker: () => ({ door: cell.gateway }),
        requests: Number.POSITIVE_INFINITY,
        get untilMs() {
          return untilMs();
        },
        pauseMsMax,
      });
    this.#ended = Promise.all(Array.from({ length: clients }, (_, at) => client(`c${at}`)));
  }

  /** Resolves when every client knows of each of its requests what it can know. */
  async end(): Promise<void> {
    this.#untilMs = 0;
    await this.#ended;
  }
}

/** When the turn that an ask brought about was known here. */
type Probed = { readonly sentMs: number; readonly answeredMs: number };

const PROBE_TIMEOUT_MS = 10_000;

export class Probes {
  readonly #cell: FaultCell;
  readonly #auditor: Auditor;
  readonly #addresses: readonly Address[];
  #asked = 0;

  constructor(cell: FaultCell, auditor: Auditor) {
    this.#cell = cell;
    this.#auditor = auditor;
    const { shards } = auditor.ledger;
    this.#addresses = shards.map(({ shard }) => probeIn(shard, shards.length));
  }

  get shards(): readonly number[] {
    return this.#addresses.map((_, shard) => shard);
  }

  /** Asks once in each shard, so that its probe lives. */
  async awake(): Promise<void> {
    await Promise.all(this.#addresses.map((_, shard) => this.#ask(shard)));
  }

  /**
   * Milliseconds from now until an ask that is sent from now on is answered, by shard. Asked anew
   * every 25 ms, so that none waits for one that was lost with its answer.
   */
  recovered(shards: readonly number[]): Promise<number[]> {
    const sinceMs = performance.now();
    return Promise.all(
      shards.map(async (shard) => {
        const { answeredMs } = await this.#first(shard);
        return answeredMs - sinceMs;
      }),
    );
  }

  /** Asks in every shard until `stop`, which answers the longest time between two answers. */
  watch(everyMs: number): { stop(): Promise<number> } {
    let stopped = false;
    const begun = performance.now();
    const gaps = this.#addresses.map(async (_, shard) => {
      const answers: Promise<Probed | undefined>[] = [];
      for (; !stopped; await sleep(everyMs)) answers.push(this.#ask(shard));
      const times = (await Promise.all(answers)).flatMap((one) => (one ? [one.answeredMs] : []));
      return longestGap([begun, ...times]);
    });
    return {
      stop: async () => {
        stopped = true;
        return Math.max(...(await Promise.all(gaps)));
      },
    };
  }

  async #first(shard: number): Promise<Probed> {
    let first: Probed | undefined;
    for (;;) {
      void this.#ask(shard).then((probed) => (first ??= probed));
      await sleep(25);
      if (first) return first;
    }
  }

  async #ask(shard: number): Promise<Probed | undefined> {
    const to = this.#addresses[shard]!;
    const uid = `probe-${++this.#asked}`;
    const request: Request = { uid, client: uid, seq: 1, to, keyed: true, told: 'pending' };
    this.#auditor.request(request);
    const sentMs = performance.now();
    const principal = { sub: 'probe', roles: [] };
    const options = { principal, key: uid, timeoutMs: PROBE_TIMEOUT_MS };
    const { kind } = await this.#cell.gateway.ask(to, { type: 'hard', uid }, options);
    request.told = kind === 'answered' ? 'answered' : 'unsure';
    return kind === 'answered' ? { sentMs, answeredMs: performance.now() } : undefined;
  }
}

const longestGap = (times: readonly number[]): number =>
  Math.max(0, ...times.toSorted((a, b) => a - b).map((at, i, all) => at - (all[i - 1] ?? at)));

/** The first probe, by number, that lives in the shard. */
function probeIn(shard: number, shards: number): Address {
  for (let n = 0; ; n++) {
    const probe = address('t', 'plain', `probe-${n}`);
    if (shardOf(probe, shards) === shard) return probe;
  }
}
