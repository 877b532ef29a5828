/**
 * Retention in a cluster: the real program as worker and gateway on a real NATS server. Ordinary
 * messages and trims of subjects remove transcripts and dead letters.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { NO_ITEMS, type RetentionCounts, type RetentionRow } from '../../protocols/retention.ts';
import { connectTo } from '../kill/conversations.ts';
import { kill, type Program, startGateway, startWorker } from '../kill/program.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';

const KEYS = ['agent:main:one', 'agent:main:two', 'agent:main:held'];
const CONFIG = {
  retention: { transcripts: '1s', deadLetters: '1s' },
  cluster: { shards: 2 },
};
const folder = mkdtempSync(join(tmpdir(), 'troupe-retention-nats-'));
const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const running: Program[] = [];
let nats: NatsServer | undefined;
let client: GatewayClient;

function folderOf(name: string): string {
  const data = join(folder, name);
  mkdirSync(data);
  writeFileSync(join(data, 'troupe.json5'), JSON.stringify(CONFIG));
  return data;
}

const operate = async <Result>(name: string, params: object) =>
  (await client.request('operations.run', { name, params: { ...params } })) as Result;
const letters = async () =>
  (await operate<{ dead_letters: unknown[] }>('dead-letters.list', {})).dead_letters;
const history = async (sessionKey: string) =>
  JSON.stringify(await client.request('chat.history', { sessionKey, limit: 100 }));

beforeAll(async () => {
  if (!server) return;
  nats = await startNats({ path: server.path });
  running.push(await startWorker(folderOf('ann'), 'ann', nats.url));
  running.push(await startGateway(folderOf('front'), await reservePort(), nats.url));
  client = await connectTo(running.at(-1)!.url);
}, 120_000);

afterAll(async () => {
  client?.close();
  await Promise.all(running.map(kill));
  await nats?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(!server)(`retention of a cluster${leftOut}`, () => {
  it('removes transcripts and dead letters that are not held, as its dry run counts', async () => {
    for (const sessionKey of KEYS)
      await client.request('chat.inject', { sessionKey, message: `note of ${sessionKey}` });
    const actor = `default/session/${KEYS[0]}`;
    await operate('actors.quarantine', { actor, why: 'to make a letter' });
    const lost = { sessionKey: KEYS[0]!, message: 'a letter' };
    await client.request('chat.inject', lost).catch(() => {});
    await eventually(async () => {
      expect((await letters()).length).toBeGreaterThan(0);
    });
    await operate('actors.resume', { actor });
    await operate('holds.set', { kind: 'session', id: KEYS[2], why: 'a case' });
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await eventually(async () => {
      const dryRun = await operate<{ counts: RetentionCounts; held: number }>('retention.sweep', {
        dryRun: true,
      });
      expect(dryRun.counts).toEqual({ ...NO_ITEMS, transcripts: 2, deadLetters: 1 });
      expect(dryRun.held).toBe(1);
    });
    const swept = await operate<RetentionRow & { counts: RetentionCounts }>('retention.sweep', {});
    expect(swept.counts).toEqual({ ...NO_ITEMS, transcripts: 2, deadLetters: 1 });
    expect(swept.sweep).toMatchObject({ skipped: 0, held: 1, failed: {} });
    expect(await history(KEYS[2]!)).toContain(`note of ${KEYS[2]}`);
    expect(await letters()).toEqual([]);
    const again = await operate<{ counts: RetentionCounts }>('retention.sweep', { dryRun: true });
    expect(again.counts).toEqual(NO_ITEMS);
  }, 120_000);
});
