/**
 * Supervision with children on three workers of a real cluster, one process each. In each case the
 * worker of the failed child, or of the supervisor, is killed (kill -9) directly after the failure.
 * Orders must still be given once, by the worker that then owns the supervisor.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as esbuild from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shopActors } from '../../examples/supervisor/shop.ts';
import { type Address, address, shardOf } from '../../protocols/address.ts';
import type { Message } from '../../protocols/statechart.ts';
import type { SupervisorRow, SupervisorStart } from '../../protocols/supervision.ts';
import { createSystem, openNats, type System } from '../../runtime/index.ts';
import { MemoryState } from '../../runtime/state/memory.ts';
import { nodeBundle } from '../../tools/build.mjs';
import { root } from '../../tools/install.mjs';
import { eventually } from '../runtime/eventually.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';
import type { SupervisionWorker } from './supervision.program.ts';

const NAMES = ['ann', 'bob', 'cleo'];
const SHARDS = 12;
const ENV = 'supervision';
const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const folder = mkdtempSync(join(tmpdir(), 'troupe-supervision-'));
const program = join(root, 'dist', 'run', `supervision-${process.pid}.mjs`);
const principal = { sub: 'test', roles: ['operator'] };
const running = new Map<string, ChildProcess>();
let nats: NatsServer;
let system: System;

async function work(name: string): Promise<void> {
  const spec: SupervisionWorker = { url: nats.url, name, folder, env: ENV, shards: SHARDS };
  const child = spawn(process.execPath, [program, JSON.stringify(spec)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.set(name, child);
  await once(child.stdout, 'data');
}

async function kill(name: string): Promise<void> {
  const child = running.get(name)!;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** The name of the worker that owns the actor's shard now. */
function ownerOf(actor: Address): string | undefined {
  const { state, node } = system.status().find((one) => one.shard === shardOf(actor, SHARDS)) ?? {};
  if (state !== 'owned') return undefined;
  return system.nodes().find((one) => one.node === node)?.name;
}

const areShared = () =>
  eventually(() => {
    const owners = Array.from({ length: SHARDS }, (_, shard) => {
      const { state, node } = system.status().find((one) => one.shard === shard) ?? {};
      return state === 'owned' ? system.nodes().find((one) => one.node === node)?.name : undefined;
    });
    expect(new Set(owners)).toEqual(new Set(NAMES));
  });

/** An actor that this worker owns now. */
let made = 0;
function actorOn(worker: string, type: string): Address {
  for (;;) {
    const actor = address('default', type, `n-${++made}`);
    if (ownerOf(actor) === worker) return actor;
  }
}

const tell = async (to: Address, event: Message) =>
  expect(await system.tell(to, event, { principal })).toMatchObject({ kind: 'accepted' });
const soldBy = (actor: Address) =>
  (system.inspect(actor)?.context as { sold: number } | undefined)?.sold;

type Group = { readonly supervisor: Address; readonly children: readonly Address[] };

/** A supervisor on bob with a child on each worker, each of which has sold two more. */
async function begin(options: Partial<SupervisorStart>): Promise<Group> {
  await areShared();
  const supervisor = actorOn('bob', 'supervisor');
  const children = NAMES.map((name) => actorOn(name, 'till'));
  const event: SupervisorStart = {
    type: 'supervisor.start',
    children: children.map((child) => ({ child, start: { type: 'till.open' } })),
    backoff: { firstMs: 50, maxMs: 500 },
    ...options,
  };
  const how = { principal, key: supervisor, timeoutMs: 20_000 };
  expect(await system.ask(supervisor, event, how)).toMatchObject({ kind: 'answered' });
  for (const child of children) {
    await eventually(() => expect(soldBy(child)).toBe(0));
    for (let n = 0; n < 2; n++) await tell(child, { type: 'till.sell' });
    await eventually(() => expect(soldBy(child)).toBe(2));
  }
  return { supervisor, children };
}

/** The child's turn throws; its worker or that of its supervisor is killed and started again. */
async function failAndKill(child: Address, victim: string): Promise<void> {
  await tell(child, { type: 'till.jam' });
  await kill(victim);
  await work(victim);
}

const sold = ({ children }: Group, wanted: readonly number[]) =>
  eventually(() => {
    expect(children.map((child) => system.inspect(child)?.status)).toEqual(
      children.map(() => 'active'),
    );
    expect(children.map(soldBy)).toEqual(wanted);
  });

const rowOf = (supervisor: Address) =>
  system.index.get<SupervisorRow>('supervisors', 'default', supervisor.split('/')[2]!);

describe.skipIf(!server)(`a supervisor with children on three workers${leftOut}`, () => {
  beforeAll(async () => {
    const entryPoints = [join(root, 'test/cluster/supervision.program.ts')];
    await esbuild.build({
      ...nodeBundle,
      entryPoints,
      outfile: program,
      packages: 'external',
    });
    nats = await startNats({ path: server!.path });
    const ports = await openNats({
      servers: [nats.url],
      name: 'gateway',
      env: ENV,
      shards: SHARDS,
      state: () => new MemoryState(),
      onAlarm: () => {},
    });
    const starting = Promise.all(NAMES.map(work));
    system = await createSystem({
      ...ports,
      actors: shopActors,
      env: ENV,
      shards: SHARDS,
      cluster: { role: 'gateway', name: 'gateway', version: '0' },
    });
    await starting;
  }, 90_000);

  afterAll(async () => {
    await system?.stop();
    await Promise.all([...running.keys()].map(kill));
    await nats?.stop();
    rmSync(program, { force: true });
    rmSync(folder, { recursive: true, force: true });
  });

  /** The failed child is that of cleo, the second that of bob, where the supervisor is. */
  const cases = [
    { strategy: 'one-for-one', victim: 'bob', failed: 1, wanted: [2, 0, 2] },
    { strategy: 'one-for-one', victim: 'cleo', failed: 2, wanted: [2, 2, 0] },
    { strategy: 'one-for-all', victim: 'bob', failed: 2, wanted: [0, 0, 0] },
    { strategy: 'one-for-all', victim: 'ann', failed: 2, wanted: [0, 0, 0] },
    { strategy: 'rest-for-one', victim: 'bob', failed: 1, wanted: [2, 0, 0] },
    { strategy: 'rest-for-one', victim: 'cleo', failed: 1, wanted: [2, 0, 0] },
  ] as const;
  it.each(cases)(
    'restarts $wanted ($strategy) though $victim is killed',
    async ({ strategy, victim, failed, wanted }) => {
      const group = await begin({ strategy });
      await failAndKill(group.children[failed]!, victim);
      await sold(group, wanted);
      for (const child of group.children) await tell(child, { type: 'till.sell' });
      await sold(
        group,
        wanted.map((count) => count + 1),
      );
      expect(rowOf(group.supervisor)).toMatchObject({ status: 'supervising', failures: 1 });
    },
    90_000,
  );

  it('counts failures across kills, and gives up above its intensity', async () => {
    const group = await begin({
      intensity: 1,
      whenExceeded: 'quarantine',
      parent: actorOn('ann', 'till'),
    });
    await failAndKill(group.children[0]!, 'bob');
    await sold(group, [0, 2, 2]);
    await failAndKill(group.children[1]!, 'bob');
    await eventually(() => expect(rowOf(group.supervisor)).toMatchObject({ status: 'halted' }));
    await eventually(() =>
      expect(group.children.map((child) => system.inspect(child)?.status)).toEqual(
        group.children.map(() => 'quarantined'),
      ),
    );
  }, 90_000);

  it('escalates to the supervisor above, which restarts the group, though its worker dies', async () => {
    await areShared();
    const above = actorOn('ann', 'supervisor');
    const group = await begin({ intensity: 0, parent: above });
    const event: SupervisorStart = {
      type: 'supervisor.start',
      children: [{ child: group.supervisor, start: { type: 'supervisor.restart' } }],
      backoff: { firstMs: 50, maxMs: 500 },
    };
    const how = { principal, key: above, timeoutMs: 20_000 };
    expect(await system.ask(above, event, how)).toMatchObject({ kind: 'answered' });
    await sold(group, [0, 0, 0]);
    for (const child of group.children) await tell(child, { type: 'till.sell' });
    await sold(group, [1, 1, 1]);
    await failAndKill(group.children[2]!, 'ann');
    await sold(group, [0, 0, 0]);
    expect(rowOf(group.supervisor)).toMatchObject({ status: 'supervising', failures: 0 });
    expect(rowOf(above)).toMatchObject({ status: 'supervising', failures: 1 });
  }, 90_000);
});
