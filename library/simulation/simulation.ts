/**
 * Simulation: a system in memory on a virtual clock, for tests of actors. Days pass in
 * milliseconds, and the process can be killed at any moment.
 *
 * Boundary: the runtime is the real one; only clock, store, bus and blobs are in memory. Effects
 * run as they are, so they must not wait for real time: give them `services` that answer at once.
 */
import type { Address } from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Message } from '../../protocols/statechart.ts';
import type { ActorDefinition } from '../../runtime/actor/definition.ts';
import { MemoryBlobs } from '../../runtime/blobs/memory.ts';
import { InProcessBus } from '../../runtime/bus/in-process.ts';
import { createSystem } from '../../runtime/create-system.ts';
import { createMemoryStore } from '../../runtime/log/memory.ts';
import type { AskAnswer, System } from '../../runtime/system.ts';
import { SimProcess } from './process.ts';
import { settled, VirtualClock } from './virtual-clock.ts';

export type SimulationOptions = {
  readonly actors: readonly ActorDefinition[];
  /** handed to every effect as `context.services`; survives `crash` */
  readonly services?: unknown;
  /** receives the crashes of actors that have no supervisor of their own */
  readonly supervisor?: Address;
  /** a system that the test controls has none */
  readonly load?: undefined;
  /** number of shards, 1 to 65,536; default 8 */
  readonly shards?: number;
};

export type SimulatedAsk = {
  /** idempotency key; default none */
  readonly key?: string;
  /** virtual milliseconds until the answer is `timeout`; default 30,000 */
  readonly timeoutMs?: number;
  /** default `{ sub: 'test', roles: [] }` */
  readonly principal?: { readonly sub: string; readonly roles: readonly string[] };
};

/** Virtual time that `until` waits at most. */
const UNTIL_MS = 3_600_000;
/** Enough for a message, its commit, an effect without a wait, and its outcome. */
const QUIET_ROUNDS = 32;
const PRINCIPAL = { sub: 'test', roles: [] };
const CELL = 'c0ffee00c0ffee00c0ffee00c0ffee00';

/**
 * A simulated system. `simulate` starts one.
 *
 * @example
 * ```ts
 * import { address, defineActor } from 'troupe';
 * import { type Simulation, simulate } from 'troupe/test';
 * import { setup } from 'xstate';
 *
 * const machine = setup({ types: { events: {} as { type: 'light.switch' } } }).createMachine({
 *   id: 'light',
 *   initial: 'off',
 *   states: {
 *     off: { on: { 'light.switch': 'on' } },
 *     on: { after: { 60_000: 'off' } },
 *   },
 * });
 * const hall = address('default', 'light', 'hall');
 * const simulation: Simulation = await simulate({
 *   actors: [defineActor({ type: 'light', version: 1, machine })],
 * });
 * await simulation.tell(hall, { type: 'light.switch' });
 * assert.equal(simulation.system.inspect(hall)?.value, 'on');
 * await simulation.crash();
 * await simulation.advance(60_000);
 * assert.equal(simulation.system.inspect(hall)?.value, 'off');
 * await simulation.stop();
 * ```
 */
export class Simulation {
  readonly #o: SimulationOptions;
  readonly #clock = new VirtualClock();
  readonly #store = createMemoryStore({ clock: this.#clock, cell: CELL });
  readonly #blobs = new MemoryBlobs();
  #process: SimProcess | undefined;
  #system: System | undefined;
  #starts = 0;

  constructor(options: SimulationOptions) {
    this.#o = options;
  }

  /** The running system; another one after `crash`. Wait for its promises with `until`. */
  get system(): System {
    if (!this.#system)
      throw new TroupeError('UNAVAILABLE', 'the simulation is not running: call start or simulate');
    return this.#system;
  }

  /** Virtual milliseconds since the simulation began. */
  get nowMs(): number {
    return this.#clock.monotonicMs();
  }

  /** Starts the system. `simulate` has done it. */
  async start(): Promise<void> {
    const process = new SimProcess(`process-${++this.#starts}`, this.#clock, 0);
    this.#process = process;
    const { clock } = process;
    const { cell, log, state } = this.#store;
    const { load: _, ...options } = this.#o;
    this.#system = await this.until(
      createSystem({
        ...options,
        clock,
        store: {
          cell,
          log: process.log(log),
          state: process.state(
            state,
            () => {},
            () => false,
          ),
          close: async () => {},
        },
        bus: process.bus(new InProcessBus({ clock })),
        blobs: process.blobs(this.#blobs),
      }),
    );
  }

  /**
   * Sends a message and waits until the work that needs no time is done.
   * @throws TroupeError when it is refused
   */
  async tell(to: Address, event: Message, options: SimulatedAsk = {}): Promise<void> {
    const { timeoutMs: _, ...rest } = options;
    const answer = await this.until(this.system.tell(to, event, { principal: PRINCIPAL, ...rest }));
    if (answer.kind === 'refused') throw TroupeError.from(answer.error);
    await this.advance(0);
  }

  /** Asks an actor. Time passes until it answers. */
  ask(to: Address, event: Message, options: SimulatedAsk = {}): Promise<AskAnswer> {
    return this.until(
      this.system.ask(to, event, { principal: PRINCIPAL, timeoutMs: 30_000, ...options }),
    );
  }

  /** Lets virtual time pass; timers that are due fire in order. */
  async advance(ms: number): Promise<void> {
    const end = this.nowMs + ms;
    await this.#quiet();
    while (this.nowMs < end) {
      const dueMs = Math.min(end, this.#clock.nextMs() ?? end);
      await this.#clock.run(dueMs);
      await this.#quiet();
    }
  }

  /**
   * Lets virtual time pass until the promise settles.
   * @throws TroupeError DEADLINE_EXCEEDED when it does not within an hour of virtual time
   */
  async until<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = async () => {
      await Promise.allSettled([promise]);
      isSettled = true;
    };
    void settle();
    const end = this.nowMs + UNTIL_MS;
    for (;;) {
      await this.#quiet(() => isSettled);
      if (isSettled) return promise;
      const next = this.#clock.nextMs();
      if (next === undefined || next > end) break;
      await this.#clock.run(next);
    }
    throw new TroupeError(
      'DEADLINE_EXCEEDED',
      'the promise did not settle within an hour of virtual time; does an effect wait for real time?',
    );
  }

  /**
   * Kills the process as `kill -9` does and starts it again on the same store. An effect that runs
   * meanwhile has an unknown outcome; its result is lost. After the second crash within two minutes
   * the crash-loop guard delays the first message by 100 ms of virtual time.
   */
  async crash(): Promise<void> {
    this.#process?.kill();
    this.#system = undefined;
    await this.start();
  }

  /** Stops the system. May be repeated. */
  async stop(): Promise<void> {
    const system = this.#system;
    this.#system = undefined;
    if (system) await this.until(system.stop());
    this.#process?.kill();
  }

  /** Everything settles that needs no time. */
  async #quiet(isOver: () => boolean = () => false): Promise<void> {
    for (let round = 0; round < QUIET_ROUNDS && !isOver(); round++) {
      await this.#clock.run(this.nowMs);
      await settled();
    }
  }
}
