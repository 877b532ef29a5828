/**
 * Retention in a cluster of the kinds that are not messages: days of the audit, files, history and
 * vectors. Their ages are set while the processes run.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditMachine } from '../../actors/audit/machine.ts';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { memoryPrefix } from '../../installation/blob-segments.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { address } from '../../protocols/address.ts';
import { auditAddress, auditDay, type AuditNote } from '../../protocols/audit.ts';
import { NO_ITEMS, type RetentionCounts, type RetentionRow } from '../../protocols/retention.ts';
import {
  createSystem,
  defineActor,
  openNats,
  type NatsPorts,
  type System,
} from '../../runtime/index.ts';
import { MemoryState } from '../../runtime/state/memory.ts';
import { connectTo } from '../kill/conversations.ts';
import { kill, type Program, startGateway, startWorker } from '../kill/program.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';

const DAY_MS = 86_400_000;
const ENV = 'main';
const KEYS = ['agent:main:one', 'agent:main:two'];
const AGES = { audit: '30d', artifacts: '30d', history: '1s', memoryIndex: '1d' };
const folder = mkdtempSync(join(tmpdir(), 'troupe-retention-kinds-'));
const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const running: Program[] = [];
let nats: NatsServer | undefined;
let client: GatewayClient;
let ports: NatsPorts;
let system: System;

const auditType = defineActor({ type: 'audit', version: 1, machine: auditMachine });

/** Ages of all processes, which follow their files. */
function configure(retention: object): void {
  const config = { retention, cluster: { shards: 1 }, nats: { env: ENV } };
  for (const name of ['ann', 'front']) {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, 'troupe.json5'), JSON.stringify(config));
  }
}

const operate = async <Result>(name: string, params: object) =>
  (await client.request('operations.run', { name, params: { ...params } })) as Result;
const sweep = (dryRun: boolean) =>
  operate<RetentionRow & { counts: RetentionCounts }>('retention.sweep', dryRun ? { dryRun } : {});

beforeAll(async () => {
  if (!server) return;
  nats = await startNats({ path: server.path });
  configure({});
  running.push(await startWorker(join(folder, 'ann'), 'ann', nats.url));
  running.push(await startGateway(join(folder, 'front'), await reservePort(), nats.url));
  client = await connectTo(running.at(-1)!.url);
  const about = { servers: [nats.url], env: ENV, shards: 1, onAlarm: () => {} };
  ports = await openNats({ ...about, state: () => new MemoryState() });
  const { version } = packageJson;
  const cluster = { role: 'gateway', name: 'test', version } as const;
  system = await createSystem({ ...ports, actors: [auditType], env: ENV, cluster });
}, 120_000);

afterAll(async () => {
  client?.close();
  await system?.stop();
  await Promise.all(running.map(kill));
  await nats?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A day of the audit with one record. */
async function audited(at: number): Promise<void> {
  const record = { at, who: 'ada', by: 'token', action: 'sessions.delete', outcome: 'done' };
  const note: AuditNote = {
    type: 'audit.note',
    records: [{ ...record, on: { key: KEYS[0]! } } as AuditNote['records'][number]],
  };
  const principal = { sub: 'otto', roles: ['operator'] };
  const answer = await system.tell(auditAddress('default', auditDay(at)), note, { principal });
  expect(answer.kind).toBe('accepted');
}

/** As the replica of this process has them. */
const days = () => system.index.list('audits', 'default').map(({ key }) => key);

/** A file as the cell stores it, that was used some days ago. */
async function file(hash: string, daysAgo: number): Promise<void> {
  const day = Math.floor(Date.now() / DAY_MS) - daysAgo;
  await ports.blobs.put(`artifact-uses/default/${hash}/${day}-9`, Buffer.from('text/plain'));
  await ports.blobs.put(`artifacts/default/${hash}`, Buffer.from('sealed'));
}

/** Its last chunks are missing. */
async function damagedBlob(name: string): Promise<void> {
  await ports.blobs.put(name, Buffer.alloc(4 * 2 ** 20, 'vectors'));
  const nc = await connect({ servers: [nats!.url] });
  const manager = await jetstreamManager(nc);
  const filter = `blb.${ENV}.c.memory.>`;
  await manager.streams.purge(await manager.streams.find(filter), { filter, keep: 1 });
  await nc.close();
  await expect(ports.blobs.get(name)).rejects.toMatchObject({ code: 'INTERNAL' });
}

describe.skipIf(!server)(`retention of a cluster${leftOut}`, () => {
  it('removes old days, files, history and vectors once their ages are set', async () => {
    for (const sessionKey of KEYS)
      await client.request('chat.inject', { sessionKey, message: `note of ${sessionKey}` });
    // Stores the history of the shard, and not only at the next snapshot.
    await operate('actors.eraseHistory', { actor: `default/session/${KEYS[1]}` });
    const [old, young] = ['a'.repeat(64), 'b'.repeat(64)];
    await file(old, 40);
    await file(young, 1);
    await audited(Date.now() - 40 * DAY_MS);
    await audited(Date.now() - 2 * DAY_MS);
    const folders = ['former', 'main'].map((key) => memoryPrefix(address('default', 'agent', key)));
    for (const at of folders) await ports.blobs.put(`${at}m/s`, Buffer.from('vectors'));
    await damagedBlob(`${folders[0]}m/t`);
    await eventually(() => expect(days()).toContain(auditDay(Date.now() - 40 * DAY_MS)));
    expect((await sweep(true)).counts).toEqual(NO_ITEMS);
    const turns = () =>
      operate<{ turns: unknown[] }>('actors.history', { actor: `default/session/${KEYS[0]}` });
    expect((await turns()).turns.length).toBeGreaterThan(0);
    // The turns are older than AGES.history then.
    await new Promise((resolve) => setTimeout(resolve, 1_100));

    configure(AGES);
    let counts: RetentionCounts = NO_ITEMS;
    await eventually(async () => {
      ({ counts } = await sweep(true));
      expect(counts).toMatchObject({ audit: 1, artifacts: 1, memoryIndex: 1 });
      expect(counts.history).toBeGreaterThan(0);
    });
    const swept = await sweep(false);
    expect(swept.sweep).toMatchObject({ failed: {}, skipped: 0 });
    expect(swept.counts).toMatchObject({ audit: 1, artifacts: 1, memoryIndex: 1 });
    expect(swept.counts.history).toBeGreaterThanOrEqual(counts.history);

    const files = await ports.blobs.list('artifacts/');
    expect(files).toContain(`artifacts/default/${young}`);
    expect(files).not.toContain(`artifacts/default/${old}`);
    expect(await ports.blobs.list('memory/')).toEqual([`${folders[1]}m/s`]);
    await eventually(() => {
      expect(days()).not.toContain(auditDay(Date.now() - 40 * DAY_MS));
      expect(days()).toContain(auditDay(Date.now() - 2 * DAY_MS));
    });
    expect((await turns()).turns).toEqual([]);
  }, 120_000);
});
