/**
 * Worlds on a cluster: two workers and a gateway on a real NATS server, each with a separate
 * connection, rows and bus client. A test talks to the gateway, which owns no shard.
 */
import { basename, join } from 'node:path';
import {
  createSystem,
  type NatsPorts,
  openNats,
  openStateCache,
  type System,
} from '../../runtime/index.ts';
import type { Backbone } from '../runtime/system/backbone.ts';
import { Ahead, ShiftedLog } from './shifted-log.ts';

type Options = Parameters<Backbone['start']>[1];

/**
 * Short heartbeats, so that a world starts quickly. Nodes of these worlds leave in order, and none
 * dies: a slow machine must not look like a dead node, since a take-over loses answers of plain
 * asks.
 */
const TIMINGS = { heartbeatMs: 25, deadAfterMs: 15_000 };
/** Of two shards each of these workers gets one. */
const NODES = [
  { name: 'ann', role: 'worker' },
  { name: 'bob', role: 'worker' },
  { name: 'gateway', role: 'gateway' },
] as const;

export class OnNats implements Backbone {
  readonly #url: () => string;
  readonly #ahead = new Map<string, Ahead>();

  /** @param url of the server; called when a world starts */
  constructor(url: () => string) {
    this.#url = url;
  }

  get url(): string {
    return this.#url();
  }

  async start(path: string, options: Options) {
    // All connect before one starts to listen, so that none takes over shards of another one.
    const opened = await allOrNone(
      NODES.map(({ name }) => this.#open(path, options, name)),
      ({ store }) => store.close(),
    );
    const systems = await allOrNone(
      NODES.map((node, n) => startNode(envOf(path), options, opened[n]!, node)),
      (system) => system.stop(),
    );
    const stop = async () => void (await Promise.all(systems.map((system) => system.stop())));
    return { system: systems.at(-1)!, stop };
  }

  async #open(path: string, options: Options, name: string): Promise<NatsPorts> {
    const { shards = 2, onAlarm = () => {} } = options;
    const env = envOf(path);
    const ports = await openNats({
      servers: [this.#url()],
      name: `${name} of ${env}`,
      env,
      shards,
      state: (cell) => openStateCache({ path: join(path, name), cell, mapSizeBytes: 2 ** 24 }),
      onAlarm,
    });
    const { aroundLog = (log) => log } = options;
    const ahead = this.#aheadOf(path, options);
    const log = aroundLog(ahead ? new ShiftedLog(ports.store.log, ahead) : ports.store.log);
    return { ...ports, store: { ...ports.store, log } };
  }

  #aheadOf(path: string, { clock }: Options): Ahead | undefined {
    if (!clock) return undefined;
    const ahead = this.#ahead.get(path) ?? new Ahead(clock);
    this.#ahead.set(path, ahead);
    return ahead;
  }
}

/** Worlds on one server are isolated: each is a separate cell. */
const envOf = (path: string): string => basename(path).toLowerCase();

async function startNode(
  env: string,
  { aroundLog: _, ...options }: Options,
  ports: NatsPorts,
  { name, role }: (typeof NODES)[number],
): Promise<System> {
  const cluster = { role, name, version: '0', drainMs: 0, timings: TIMINGS };
  try {
    return await createSystem({ ...options, ...ports, env, cluster });
  } catch (error) {
    await ports.store.close();
    throw error;
  }
}

/** @throws the first failure, after the other parts have opened and were closed */
async function allOrNone<T>(
  coming: readonly Promise<T>[],
  end: (one: T) => Promise<void>,
): Promise<T[]> {
  const came = await Promise.allSettled(coming);
  const failed = came.find((one) => one.status === 'rejected');
  const fine = came.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  if (!failed) return fine;
  await Promise.all(fine.map(end));
  throw failed.reason;
}
