/**
 * Run: one run of a user's actors on the whole runtime, in one process that may be killed, with
 * virtual time. Everything that happens follows from the messages, the faults and the actors, so
 * the same run has the same history.
 *
 * Boundary: the store is in memory and survives kills. Services are outside of the process and
 * survive them, too.
 */
import { hash } from 'node:crypto';
import { TroupeError } from '../../protocols/errors.ts';
import type { ActorDefinition } from '../../runtime/actor/definition.ts';
import { MemoryBlobs } from '../../runtime/blobs/memory.ts';
import { createSystem } from '../../runtime/create-system.ts';
import { createMemoryStore } from '../../runtime/log/memory.ts';
import type { Decision, System } from '../../runtime/system.ts';
import { Clients, messageFault } from './clients.ts';
import { withFaults } from './faulty-effects.ts';
import type { Fault, FaultPlan } from './faults.ts';
import { ObservedLog } from './observed-log.ts';
import { SimProcess } from './process.ts';
import { Random } from './random.ts';
import type {
  AgentParts,
  RunEvent,
  RunFailure,
  RunPlan,
  RunPort,
  RunResult,
  RunSetup,
  Said,
} from './run-parts.ts';
import { RunWorld } from './run-world.ts';
import { SimBus } from './sim-bus.ts';
import { settled, VirtualClock } from './virtual-clock.ts';
import { complaintOf, type SimulatedMessage } from './world.ts';

const CELL = 'c0ffee00c0ffee00c0ffee00c0ffee00';
const SIM_ENV = 'local';
/** Time without a commit after which a run may be at rest. */
const QUIET_MS = 2_000;
const DECIDE_MS_MAX = 60_000;
const REST = 'comes to rest';
const PASS_ROUNDS_MAX = 10_000;

export class Run implements RunPort {
  readonly clock = new VirtualClock();
  readonly events: RunEvent[] = [];
  readonly faults: FaultPlan;
  readonly world: RunWorld;
  #failure: RunFailure | undefined;
  readonly #setup: RunSetup;
  readonly #plan: RunPlan;
  readonly #store = createMemoryStore({ clock: this.clock, cell: CELL });
  readonly #blobs = new MemoryBlobs();
  readonly #bus: SimBus;
  readonly #log: ObservedLog;
  readonly #actors: readonly ActorDefinition[];
  readonly #agents: AgentParts | undefined;
  readonly #clients: Clients;
  readonly #deciding = new Set<string>();
  readonly #random: Random;
  #process: SimProcess | undefined;
  #system: System | undefined;
  #starts = 0;
  #ids = 0;
  #reactions = 0;
  #untilMs: number;
  /** true: only the history is read any more */
  isFrozen = false;
  /** attempts of effects that run in the living process */
  running = 0;

  constructor(setup: RunSetup, plan: RunPlan) {
    this.#setup = setup;
    this.#plan = plan;
    this.faults = plan.faults;
    this.#random = new Random(plan.seed);
    this.#bus = new SimBus(this.clock, this.#random.fork('bus'));
    this.#clients = new Clients(this);
    const last = plan.load.reduce((ms, [, { at = 0 }]) => Math.max(ms, at), 0);
    this.#untilMs = last + setup.restMs;
    let early: SimulatedMessage[] | undefined = [];
    const send = (message: SimulatedMessage) => {
      // From services or tools that are being made: the types are not known yet.
      if (early) return void early.push(message);
      const fault = this.#faultOf(message);
      if (fault !== undefined) return this.fail('a client sends', fault);
      const at = this.clock.monotonicMs() + (message.at ?? 0);
      this.#untilMs = Math.max(this.#untilMs, at + setup.restMs);
      this.#clients.send(`reaction ${++this.#reactions}`, { ...message, at });
    };
    this.world = new RunWorld(this.clock, this.#random.fork('services'), send);
    this.world.services = setup.services?.(this.world);
    this.#log = new ObservedLog(this.#store.log, SIM_ENV, this);
    this.#agents = setup.agents?.(this);
    const { actors = [], services } = this.#agents ?? {};
    this.#actors = [
      ...setup.actors.map((definition) => withFaults(definition, this)),
      ...actors.map((definition) => withFaults(definition, this, services)),
    ];
    for (const [n, message] of plan.load) {
      const fault = this.#faultOf(message);
      if (fault !== undefined) throw new TypeError(`message ${n} of load: ${fault}`);
    }
    const sent = early;
    early = undefined;
    for (const message of sent) {
      const fault = this.#faultOf(message);
      if (fault !== undefined) throw new TypeError(`a message of services or tools: ${fault}`);
      send(message);
    }
  }

  #faultOf(message: SimulatedMessage): string | undefined {
    return messageFault(message, new Set(this.#actors.map(({ type }) => type)));
  }

  /** The system that clients reach; undefined while no process runs. */
  get system(): System | undefined {
    return this.#system;
  }

  get isOver(): boolean {
    return this.#failure !== undefined;
  }

  /** The process that runs at present, or the last one. */
  get process(): SimProcess {
    return this.#process!;
  }

  say(event: Said): void {
    this.events.push({ at: this.clock.monotonicMs(), ...event });
  }

  fail(rule: string, why: string): void {
    this.#failure ??= { rule, why, at: this.clock.monotonicMs() };
    // What never rests would run on without ever giving way to this code.
    this.process.kill();
  }

  /** Called after each commit. */
  check(): void {
    const { invariants, turnsMax } = this.#setup;
    if (this.isOver) return;
    this.#agents?.look();
    for (const [rule, holds] of Object.entries(invariants)) {
      const why = complaintOf(holds, this.world);
      if (why !== undefined) return this.fail(rule, why);
    }
    if (this.world.turns > turnsMax) this.fail(REST, `it still works after ${turnsMax} turns`);
  }

  crashed(actor: string, why: string): void {
    if (!this.#setup.mayCrash) this.fail('no actor crashes', `${actor}: ${why}`);
  }

  /** Kills the process; another one starts later on the same store. */
  kill(fault: Fault, when: string): void {
    if (!this.process.alive) return;
    this.say({ kind: 'fault', fault, what: `the process is killed ${when}` });
    this.process.kill();
    this.#system = undefined;
    this.running = 0;
    this.clock.after(fault.ms, () => {
      const clock = this.faults.at(`start ${this.#starts + 1}`, 'clock');
      if (clock)
        this.say({ kind: 'fault', fault: clock, what: `the clock is off by ${clock.ms} ms` });
      void this.#start(clock?.ms ?? 0);
    });
  }

  /** Runs until everything is at rest, a rule is broken or the time is over. */
  async execute(): Promise<RunResult> {
    void this.#start(0);
    for (const [n, message] of this.#plan.load) this.#clients.send(`message ${n}`, message);
    while (!this.isOver) {
      await settled();
      const next = this.clock.nextMs();
      if (next === undefined || next > this.#untilMs) break;
      await this.clock.run(next, () => this.isOver);
      if (this.#isQuiet() && this.#isAtRest()) break;
    }
    this.#checkRest();
    const { events, faults, world } = this;
    const { turns } = world;
    const failure = this.#failure;
    const happened = faults.happened;
    const digest = hash('sha256', JSON.stringify(events), 'hex');
    const { seed } = this.#plan;
    return { seed, ...(failure && { failure }), events, faults: happened, turns, world, digest };
  }

  /** The system for reading its history after the end: it takes no turns and runs no effects. */
  async reopened(): Promise<System> {
    this.#process?.kill();
    this.isFrozen = true;
    this.#system = undefined;
    void this.#start(0);
    await this.pass(() => this.#system !== undefined);
    if (!this.#system) throw new TroupeError('INTERNAL', 'the run cannot be opened again');
    return this.#system;
  }

  /** Lets virtual time pass, at most a minute, until something is so. */
  async pass(isSo: () => boolean): Promise<void> {
    const until = this.clock.monotonicMs() + 60_000;
    for (let round = 0; round < PASS_ROUNDS_MAX && !isSo(); round++) {
      await settled();
      const next = this.clock.nextMs();
      if (next !== undefined && next <= until) await this.clock.run(next, isSo);
    }
  }

  close(): void {
    this.#process?.kill();
  }

  async #start(skewMs: number): Promise<void> {
    const name = `process ${++this.#starts}`;
    this.say({ kind: 'note', what: `${name} starts` });
    const process = new SimProcess(name, this.clock, skewMs, true);
    this.#process = process;
    const { clock } = process;
    const { cell, state } = this.#store;
    const never = () => false;
    const rows = process.state(state, () => {}, never);
    const { shards, supervisor = this.#agents?.supervisor } = this.#setup;
    const system = await createSystem({
      actors: this.#actors,
      clock,
      env: SIM_ENV,
      shards,
      ...(supervisor && { supervisor }),
      store: { cell, log: process.log(this.#log), state: rows, close: async () => {} },
      bus: process.bus(this.#bus),
      blobs: process.blobs(this.#blobs),
      services: this.world.services,
      newId: () => `m${++this.#ids}`,
    });
    if (!process.alive) return;
    this.#system = system;
    await this.#agents?.start(system);
  }

  /** Nothing is on its way, as far as can be seen without the store. */
  #isQuiet(): boolean {
    const { clock, world, running } = this;
    const isQuiet = clock.monotonicMs() - world.committedAt >= QUIET_MS;
    return isQuiet && running === 0 && this.#clients.waiting === 0 && this.#system !== undefined;
  }

  #isAtRest(): boolean {
    this.#decideUnknown();
    const isRead = this.#system!.status().every(({ lag, state }) => lag === 0 && state === 'owned');
    return isRead && this.world.isIdle(this.#untilMs) && this.#deciding.size === 0;
  }

  /** Acts as the operator who decides effects with unknown outcomes, some time later. */
  #decideUnknown(): void {
    const { operator } = this.#setup;
    for (const effect of this.#system!.unknownEffects()) {
      const { id, attempt } = effect;
      const name = `${id} ${attempt}`;
      if (this.#deciding.has(name)) continue;
      const decision = operator ? operator(effect) : UNKNOWN;
      if (!decision) continue;
      this.#deciding.add(name);
      const ms = this.#random.fork(`operator ${name}`).whole(1_000, DECIDE_MS_MAX);
      this.clock.after(ms, () => {
        this.#deciding.delete(name);
        const what = `an operator decides on ${effect.effect} of ${effect.actor}: ${decision.kind}`;
        this.say({ kind: 'note', what });
        void this.#system?.decide(id, decision);
      });
    }
  }

  #checkRest(): void {
    if (this.isOver) return;
    const isIdle = this.#system !== undefined && this.world.isIdle(this.#untilMs);
    if (!isIdle || this.running > 0) this.fail(REST, this.world.unrest(this.#untilMs));
    for (const [rule, holds] of Object.entries(this.#setup.atRest)) {
      const why = complaintOf(holds, this.world);
      if (why !== undefined) this.fail(rule, why);
    }
  }
}

const UNKNOWN: Decision = {
  kind: 'failed',
  error: { code: 'UNAVAILABLE', message: 'it is unknown whether it happened' },
};
