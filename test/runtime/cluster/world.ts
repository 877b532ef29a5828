/**
 * A cluster in one process: nodes with rows of their own on one log, one bus and one store of
 * blobs, all in memory and never atomic. The runtime is the real one.
 */
import { type Address, address } from '../../../protocols/address.ts';
import type { Message } from '../../../protocols/statechart.ts';
import { defined } from '../../../protocols/defined.ts';
import type { Blobs } from '../../../runtime/blobs/blobs.ts';
import { MemoryBlobs } from '../../../runtime/blobs/memory.ts';
import type { Bus } from '../../../runtime/bus/bus.ts';
import { InProcessBus } from '../../../runtime/bus/in-process.ts';
import {
  createSystem,
  type SendOptions,
  type System,
  type SystemOptions,
  systemClock,
} from '../../../runtime/index.ts';
import type { Log } from '../../../runtime/log/log.ts';
import { createMemoryStore, type MemoryStore } from '../../../runtime/log/memory.ts';
import type { State } from '../../../runtime/state/state.ts';
import type { StateCache } from '../../../runtime/state/lmdb-cache.ts';
import { MemoryState } from '../../../runtime/state/memory.ts';
import type { Known } from '../system/puppet.ts';
import { bossType, puppetType } from '../system/puppet.ts';

export const user = { sub: 'ada', roles: ['user'] };
export const puppet = (key: string): Address => address('t', 'puppet', key);

type Options = Partial<Omit<SystemOptions, 'store' | 'bus' | 'blobs'>> & {
  /** the log as this node sees it */
  readonly aroundLog?: (log: Log) => Log;
  /** the bus as this node sees it */
  readonly aroundBus?: (bus: Bus) => Bus;
  /** the blobs as this node sees them */
  readonly aroundBlobs?: (blobs: Blobs) => Blobs;
  /** of its rows; default a new one in memory */
  readonly state?: State & Partial<Pick<StateCache, 'scrub'>>;
  readonly warmCopies?: number;
};

export class ClusterWorld {
  readonly store: MemoryStore = createMemoryStore({ clock: systemClock, atomic: false });
  readonly bus = new InProcessBus();
  readonly blobs = new MemoryBlobs();
  readonly alarms: string[] = [];
  readonly nodes = new Map<string, System>();
  readonly #options: Options;

  constructor(options: Options = {}) {
    this.#options = options;
  }

  worker(name: string, options: Options = {}): Promise<System> {
    return this.#open(name, 'worker', options);
  }

  gateway(name: string, options: Options = {}): Promise<System> {
    return this.#open(name, 'gateway', options);
  }

  async stop(name: string): Promise<void> {
    await this.nodes.get(name)?.stop();
    this.nodes.delete(name);
  }

  async close(): Promise<void> {
    await Promise.all([...this.nodes.keys()].map((name) => this.stop(name)));
  }

  async #open(name: string, role: 'worker' | 'gateway', options: Options): Promise<System> {
    const { aroundLog = (log) => log, aroundBus = (bus) => bus, aroundBlobs, ...more } = options;
    const { state: given, warmCopies, ...rest } = { ...this.#options, ...more };
    const state: NonNullable<Options['state']> = given ?? new MemoryState();
    const system = await createSystem({
      actors: [puppetType(), bossType(), puppetType({ type: 'erasure' })],
      shards: 8,
      ...rest,
      store: {
        log: aroundLog(this.store.log),
        state,
        cell: this.store.cell,
        streams: IN_MEMORY,
        scrubLocal: async (erasures) => state.scrub?.(erasures),
        erasuresAtOpening: 0,
        close,
      },
      bus: aroundBus(ownEnd(this.bus)),
      blobs: aroundBlobs?.(this.blobs) ?? this.blobs,
      onAlarm: (what) => this.alarms.push(`${name}: ${what}`),
      cluster: { role, name, version: '0', drainMs: 5_000, ...defined({ warmCopies }) },
    });
    this.nodes.set(name, system);
    return system;
  }
}

/** The streams of this world have no files. */
const IN_MEMORY = { begin: async () => ({}), finish: async () => ['memory'] };
const close = async (): Promise<void> => {};

/** The bus of one node; closing it does not close the bus of the others. */
const ownEnd = (bus: InProcessBus): Bus => {
  const leave = new Set<() => void>();
  return {
    get connected() {
      return bus.connected;
    },
    publish: (subject, payload) => bus.publish(subject, payload),
    subscribe: (pattern, on) => {
      const stop = bus.subscribe(pattern, on);
      leave.add(stop);
      return stop;
    },
    request: (subject, payload, options) => bus.request(subject, payload, options),
    close: async () => {
      for (const stop of leave) stop();
    },
  };
};

export const ask = (
  system: System,
  to: Address,
  event: Message,
  options: Partial<SendOptions> = {},
) => system.ask(to, event, { principal: user, timeoutMs: 20_000, ...options });

export const known = (system: System, actor: Address): Known =>
  system.inspect(actor)?.context as Known;
