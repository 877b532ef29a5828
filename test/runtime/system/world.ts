/**
 * A world for one test: a system in a temporary folder, with real LMDB or on the backbone of the
 * test file. It can be stopped and started again, also with other actors.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Address, address } from '../../../protocols/address.ts';
import type { Message } from '../../../protocols/statechart.ts';
import { openFileBlobs } from '../../../runtime/blobs/files.ts';
import { InProcessBus } from '../../../runtime/bus/in-process.ts';
import {
  type AskAnswer,
  type Clock,
  createSystem,
  type DeadLetter,
  openEmbedded,
  type Ports,
  type SendOptions,
  type System,
  type TellAnswer,
} from '../../../runtime/index.ts';
import { openEmbeddedStore } from '../../../runtime/log/embedded-store.ts';
import { eventually } from '../eventually.ts';
import { type Backbone, chosenBackbone, type RunOptions, type Running } from './backbone.ts';
import { bossType, type Known, puppetType } from './puppet.ts';

export const user = { sub: 'ada', roles: ['user'] };
export const operator = { sub: 'otto', roles: ['operator'] };
/** An actor of the puppet's type. */
export const puppet = (key: string): Address => address('t', 'puppet', key);
export const boss = address('t', 'boss', 'b');

export type WorldOptions = Partial<Omit<RunOptions, 'onAlarm'>>;
type Sending = Partial<SendOptions>;

const ANSWER_WITHIN_MS = 15_000;

export class World {
  readonly path: string;
  /** notifications to the operator */
  readonly alarms: string[] = [];
  #running: Running | undefined;
  #options: WorldOptions;

  constructor(path: string, options: WorldOptions) {
    this.path = path;
    this.#options = options;
  }

  get system(): System {
    if (!this.#running) throw new Error('the world is stopped');
    return this.#running.system;
  }

  async start(changes: WorldOptions = {}): Promise<void> {
    this.#options = { ...this.#options, ...changes };
    const { actors = [puppetType(), bossType()], shards = 2, ...rest } = this.#options;
    const onAlarm = (what: string) => void this.alarms.push(what);
    const backbone = chosenBackbone() ?? embedded;
    this.#running = await backbone.start(this.path, { actors, shards, ...rest, onAlarm });
  }

  async stop(): Promise<void> {
    await this.#running?.stop();
    this.#running = undefined;
  }

  /** Stops in an orderly way and starts again on the same folder. */
  async restart(changes: WorldOptions = {}): Promise<void> {
    await this.stop();
    await this.start(changes);
  }

  tell(to: Address, event: Message, options: Sending = {}): Promise<TellAnswer> {
    return this.system.tell(to, event, { principal: user, ...options });
  }

  ask(
    to: Address,
    event: Message,
    options: Sending & { timeoutMs?: number } = {},
  ): Promise<AskAnswer> {
    return this.system.ask(to, event, { principal: user, timeoutMs: ANSWER_WITHIN_MS, ...options });
  }

  /** An operator's directive, on the control lane. */
  order(child: Address, directive: string): Promise<AskAnswer> {
    return this.ask(child, { type: directive }, { principal: operator, lane: 'control' });
  }

  /** The stored context of a puppet. @throws when it does not exist */
  known(actor: Address): Known {
    const found = this.system.inspect(actor);
    if (!found) throw new Error(`${actor} does not exist`);
    return found.context as Known;
  }

  seen(actor: Address): readonly string[] {
    return this.known(actor).seen;
  }

  statusOf(actor: Address): string | undefined {
    return this.system.inspect(actor)?.status;
  }

  /** Dead letters, as soon as there are this many. */
  letters(count: number): Promise<readonly DeadLetter[]> {
    return eventually(async () => {
      const { deadLetters } = this.system;
      const heads = await deadLetters.list();
      if (heads.length < count) throw new Error(`${heads.length} dead letters, not ${count}`);
      return Promise.all(heads.map(({ position, domain }) => deadLetters.get(position, domain)));
    });
  }
}

const embedded: Backbone = {
  start: async (path, options) => {
    const { aroundLog = (log) => log, ...own } = options;
    const ports = await openPorts(path, own.clock);
    const store = { ...ports.store, log: aroundLog(ports.store.log) };
    try {
      const system = await createSystem({ ...own, ...ports, store });
      return { system, stop: () => system.stop() };
    } catch (error) {
      await ports.store.close();
      throw error;
    }
  },
};

/** A test clock is also the time of the store. */
async function openPorts(path: string, clock?: Clock): Promise<Ports> {
  if (!clock) return openEmbedded({ path });
  const store = await openEmbeddedStore({ path, durability: 'process', clock });
  return {
    store,
    bus: new InProcessBus({ clock }),
    blobs: await openFileBlobs(join(path, 'blobs')),
  };
}

/** A started world with a separate folder; both end with the test. */
export async function openWorld(options: WorldOptions = {}): Promise<World> {
  const path = await mkdtemp(join(tmpdir(), 'troupe-system-'));
  const world = new World(path, options);
  onTestFinished(async () => {
    await world.stop();
    await rm(path, { recursive: true, force: true });
  });
  await world.start();
  return world;
}
