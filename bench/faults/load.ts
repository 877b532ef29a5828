/**
 * The clients of the simulation on a real cell, in real time. Probes are actors, one in each shard,
 * that receive asks continuously; they show from outside when a shard takes turns again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Address, address, shardOf } from '../../protocols/address.ts';
import { ERRORS } from '../../protocols/errors.ts';
import type { AskAnswer } from '../../runtime/index.ts';
import type { Auditor, Request } from '../../test/sim/auditor.ts';
import type { Random } from '../../library/simulation/random.ts';
import { BOSS, runClient, Workload } from '../../test/sim/workload.ts';
import type { FaultCell } from './cell.ts';

export type LoadOptions = {
  readonly cell: FaultCell;
  readonly auditor: Auditor;
  readonly random: Random;
  readonly clients: number;
  readonly pauseMsMax: number;
  /** some messages kill the process that handles them, if the worker permits it */
  readonly killers?: boolean;
};

const TENANTS = ['t', 'u'];
const KEYS = 4;

export class Load {
  #untilMs = Number.POSITIVE_INFINITY;
  readonly #ended: Promise<unknown>;
  /** every actor that may receive a message */
  readonly actors: readonly string[];

  /** Starts all clients. */
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
        worker: () => ({ entryPoint: cell.gateway }),
        requests: Number.POSITIVE_INFINITY,
        get untilMs() {
          return untilMs();
        },
        pauseMsMax,
      });
    this.#ended = Promise.all(Array.from({ length: clients }, (_, at) => client(`c${at}`)));
  }

  /** Resolves when every client knows the final response of each of its requests. */
  async end(): Promise<void> {
    this.#untilMs = 0;
    await this.#ended;
  }
}

/** The response to an ask, and its time. */
type Probed = { readonly answer: AskAnswer; readonly atMs: number };

type Watched = {
  readonly asks: number;
  /** longest time between two replies of an actor */
  readonly longestMs: number;
  /** asks that were refused for now: nothing was accepted, and a retry is safe */
  readonly refused: number;
  /** asks with any other error */
  readonly failed: number;
};

const ASK_EVERY_MS = 25;

const PROBE_TIMEOUT_MS = 10_000;

export class Probes {
  readonly #cell: FaultCell;
  readonly #auditor: Auditor;
  readonly #addresses: readonly Address[];
  /** by key, the response to each ask */
  readonly answers = new Map<string, { readonly shard: number; readonly answer: AskAnswer }>();
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

  /** Sends one ask to each shard, which creates its probe. */
  async awake(): Promise<void> {
    await Promise.all(this.#addresses.map((_, shard) => this.#ask(shard)));
  }

  /**
   * By shard, milliseconds until an ask that is sent from now on has a reply. A new ask is sent
   * every 25 ms, so that none waits for one that was lost with its reply.
   */
  recovered(shards: readonly number[]): Promise<number[]> {
    const sinceMs = performance.now();
    return Promise.all(shards.map(async (shard) => (await this.#first(shard)) - sinceMs));
  }

  /** Sends asks to every shard until `stop`. */
  watch(everyMs: number): { stop(): Promise<Watched> } {
    let stopped = false;
    const begun = performance.now();
    const watched = this.#addresses.map(async (_, shard) => {
      const asked: Promise<Probed>[] = [];
      for (; !stopped; await sleep(everyMs)) asked.push(this.#ask(shard));
      const all = await Promise.all(asked);
      const times = all.flatMap(({ answer, atMs }) => (answer.kind === 'answered' ? [atMs] : []));
      const refused = all.filter(({ answer }) => isForNow(answer)).length;
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

  /** Whether an ask in each shard has no reply, or is refused. */
  async noneAnswers(): Promise<boolean> {
    const all = await Promise.all(this.#addresses.map((_, shard) => this.#ask(shard)));
    return all.every(({ answer }) => answer.kind !== 'answered');
  }

  async #first(shard: number): Promise<number> {
    let first: number | undefined;
    const noted = ({ answer, atMs }: Probed): void => {
      if (answer.kind === 'answered') first ??= atMs;
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
    const request: Request = { uid, client: uid, seq: 1, to, keyed: true, outcome: 'pending' };
    this.#auditor.request(request);
    const answer = await this.askAgain(shard, uid);
    request.outcome = answer.kind === 'answered' ? 'answered' : 'unsure';
    this.answers.set(uid, { shard, answer });
    return { answer, atMs: performance.now() };
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

const isForNow = (answer: AskAnswer): boolean =>
  answer.kind === 'refused' && ERRORS[answer.error.code].retriable;

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

const longestGap = (times: readonly number[]): number =>
  Math.max(0, ...times.toSorted((a, b) => a - b).map((at, i, all) => at - (all[i - 1] ?? at)));

/** The first probe, by number, whose address is in the shard. */
function probeIn(shard: number, shards: number): Address {
  for (let n = 0; ; n++) {
    const probe = address('t', 'plain', `probe-${n}`);
    if (shardOf(probe, shards) === shard) return probe;
  }
}
