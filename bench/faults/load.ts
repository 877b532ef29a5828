/**
 * Load: the clients of the simulation on a real cell, by real time, and probes: actors, one in each
 * shard, that are asked on and on to see from outside when a shard takes turns again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Address, address, shardOf } from '../../protocols/address.ts';
import { ERRORS } from '../../protocols/errors.ts';
import type { AskAnswer } from '../../runtime/index.ts';
import type { Auditor, Request } from '../../test/sim/auditor.ts';
import type { Random } from '../../test/sim/random.ts';
import { BOSS, runClient, Workload } from '../../test/sim/workload.ts';
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
  /** every actor that may get a message */
  readonly actors: readonly string[];

  /** Clients begin at once. */
  constructor({ cell, auditor, random, clients, pauseMsMax, killers = false }: LoadOptions) {
    const plan = { keys: KEYS, clients, requestsPerClient: 0, killers, tenants: TENANTS };
    const workload = new Workload(random.fork('workload'), plan);
    this.actors = [BOSS, ...workload.actors];
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

/** What an ask was told, and when. */
type Probed = { readonly told: AskAnswer; readonly atMs: number };

type Watched = {
  readonly asks: number;
  /** longest time between two answers of an actor */
  readonly longestMs: number;
  /** asks that were refused for now: nothing was accepted, and to ask again is safe */
  readonly refused: number;
  /** asks that failed in any other way */
  readonly failed: number;
};

const ASK_EVERY_MS = 25;

const PROBE_TIMEOUT_MS = 10_000;

export class Probes {
  readonly #cell: FaultCell;
  readonly #auditor: Auditor;
  readonly #addresses: readonly Address[];
  /** what each ask was told, by its key */
  readonly told = new Map<string, { readonly shard: number; readonly told: AskAnswer }>();
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
    return Promise.all(shards.map(async (shard) => (await this.#first(shard)) - sinceMs));
  }

  /** Asks in every shard until `stop`. */
  watch(everyMs: number): { stop(): Promise<Watched> } {
    let stopped = false;
    const begun = performance.now();
    const watched = this.#addresses.map(async (_, shard) => {
      const asked: Promise<Probed>[] = [];
      for (; !stopped; await sleep(everyMs)) asked.push(this.#ask(shard));
      const all = await Promise.all(asked);
      const times = all.flatMap(({ told, atMs }) => (told.kind === 'answered' ? [atMs] : []));
      const refused = all.filter(({ told }) => isForNow(told)).length;
      const failed = all.length - times.length - refused;
      return { asks: all.length, longestMs: longestGap([begun, ...times]), refused, failed };
    });
    return {
      stop: async () => {
        stopped = true;
        const all = await Promise.all(watched);
        return {
          asks: sum(all.map(({ asks }) => asks)),
          longestMs: Math.max(...all.map(({ longestMs }) => longestMs)),
          refused: sum(all.map(({ refused }) => refused)),
          failed: sum(all.map(({ failed }) => failed)),
        };
      },
    };
  }

  /** Whether an ask in each shard stays without an answer, or is refused. */
  async noneAnswers(): Promise<boolean> {
    const all = await Promise.all(this.#addresses.map((_, shard) => this.#ask(shard)));
    return all.every(({ told }) => told.kind !== 'answered');
  }

  async #first(shard: number): Promise<number> {
    let first: number | undefined;
    const noted = ({ told, atMs }: Probed): void => {
      if (told.kind === 'answered') first ??= atMs;
    };
    for (;;) {
      void this.#ask(shard).then(noted);
      await sleep(ASK_EVERY_MS);
      if (first !== undefined) return first;
    }
  }

  async #ask(shard: number): Promise<Probed> {
    const to = this.addressIn(shard);
    const uid = `probe-${++this.#asked}`;
    const request: Request = { uid, client: uid, seq: 1, to, keyed: true, told: 'pending' };
    this.#auditor.request(request);
    const told = await this.askAgain(shard, uid);
    request.told = told.kind === 'answered' ? 'answered' : 'unsure';
    this.told.set(uid, { shard, told });
    return { told, atMs: performance.now() };
  }

  /** An ask under a key that may have been used before. */
  askAgain(shard: number, uid: string): Promise<AskAnswer> {
    const principal = { sub: 'probe', roles: [] };
    const options = { principal, key: uid, timeoutMs: PROBE_TIMEOUT_MS };
    return this.#cell.gateway.ask(this.addressIn(shard), { type: 'hard', uid }, options);
  }

  addressIn(shard: number): Address {
    return this.#addresses[shard]!;
  }
}

const isForNow = (told: AskAnswer): boolean =>
  told.kind === 'refused' && ERRORS[told.error.code].retriable;

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

const longestGap = (times: readonly number[]): number =>
  Math.max(0, ...times.toSorted((a, b) => a - b).map((at, i, all) => at - (all[i - 1] ?? at)));

/** The first probe, by number, that lives in the shard. */
function probeIn(shard: number, shards: number): Address {
  for (let n = 0; ; n++) {
    const probe = address('t', 'plain', `probe-${n}`);
    if (shardOf(probe, shards) === shard) return probe;
  }
}
