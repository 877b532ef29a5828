/** An embedded world that moves to another place, and the system at that place. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Address } from '../../../protocols/address.ts';
import type { Message } from '../../../protocols/statechart.ts';
import { createRegistry } from '../../../runtime/actor/registry.ts';
import { systemClock } from '../../../runtime/clock/clock.ts';
import { MessageClient } from '../../../runtime/message-client.ts';
import {
  type AskAnswer,
  createSystem,
  openEmbedded,
  type SendOptions,
  type System,
  type SystemOptions,
} from '../../../runtime/index.ts';
import type { TransferSummary } from '../../../runtime/transfer/frames.ts';
import { exportCell } from '../../../runtime/transfer/export.ts';
import { importCell } from '../../../runtime/transfer/import.ts';
import { bossType, type Known, puppetType } from '../system/puppet.ts';
import { user } from '../system/world.ts';
import type { Place } from './places.ts';

export async function scratch(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'troupe-transfer-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Opens the store of a stopped world during a call. */
export async function withStore<T>(
  path: string,
  use: (ports: Awaited<ReturnType<typeof openEmbedded>>) => Promise<T>,
): Promise<T> {
  const ports = await openEmbedded({ path });
  try {
    return await use(ports);
  } finally {
    await ports.store.close();
  }
}

/** Exports the store of a stopped world. */
export async function exported(path: string): Promise<{ file: string; summary: TransferSummary }> {
  const file = join(await scratch(), 'troupe.export');
  const summary = await withStore(path, (ports) => exportCell({ ...ports, file, program: 'test' }));
  return { file, summary };
}

type Sent = readonly [to: Address, event: Message, options?: Partial<SendOptions>];

/** Accepts messages that are not processed: the process died directly after it accepted them. */
export function acceptOnly(path: string, shards: number, sent: readonly Sent[]): Promise<void> {
  return withStore(path, async ({ store, bus }) => {
    const client = new MessageClient({
      ...store,
      bus,
      clock: systemClock,
      env: 'local',
      shards,
      worker: 'client',
      format: { writes: 1 },
      registry: createRegistry([puppetType(), bossType()]),
      statusOf: () => undefined,
    });
    for (const [to, event, options] of sent) {
      const answer = await client.tell(to, event, { principal: user, ...options });
      if (answer.kind !== 'accepted')
        throw new Error(`it was not accepted: ${answer.error.message}`);
    }
  });
}

/** A system at the new place; it ends with the test. */
export class Carried {
  readonly system: System;
  readonly alarms: readonly string[];

  private constructor(system: System, alarms: readonly string[]) {
    this.system = system;
    this.alarms = alarms;
  }

  static async open(place: Place, options: Partial<SystemOptions> = {}): Promise<Carried> {
    const alarms: string[] = [];
    const ports = await place.open();
    const system = await createSystem({
      actors: [puppetType(), bossType()],
      ...options,
      ...ports,
      env: place.env,
      onAlarm: (what) => void alarms.push(what),
    });
    onTestFinished(() => system.stop());
    return new Carried(system, alarms);
  }

  ask(to: Address, event: Message, options: Partial<SendOptions> = {}): Promise<AskAnswer> {
    return this.system.ask(to, event, { principal: user, timeoutMs: 15_000, ...options });
  }

  known(actor: Address): Known {
    const found = this.system.inspect(actor);
    if (!found) throw new Error(`${actor} does not exist`);
    return found.context as Known;
  }
}

/** Moves the content of a file to a new place of this kind. */
export async function moved(
  make: () => Promise<Place>,
  file: string,
): Promise<{ place: Place; summary: TransferSummary }> {
  const place = await make();
  onTestFinished(() => place.close());
  const { target, env } = place;
  return { place, summary: await importCell({ target, env, file }) };
}
