/**
 * Kill -9 in the middle of a sweep: it continues after the start, each session is removed once, and
 * the receipt has the sum.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
import type { RetentionRow } from '../../protocols/retention.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { connectTo } from './conversations.ts';
import { kill, type Program, startProgram } from './program.ts';

const SESSIONS = 40;
const KILLS = 3;

const operate = async <Result>(client: GatewayClient, name: string, params: object) =>
  (await client.request('operations.run', { name, params: { ...params } })) as Result;

async function sweeperOf(client: GatewayClient): Promise<RetentionRow> {
  const { tenants } = await operate<{ tenants: { sweeper?: RetentionRow }[] }>(
    client,
    'retention.list',
    {},
  );
  return tenants[0]!.sweeper!;
}

it('kill -9 in the middle of a sweep removes each session once', {
  timeout: 300_000,
}, async () => {
  const data = mkdtempSync(join(tmpdir(), 'troupe-retention-kill-'));
  onTestFinished(() => rmSync(data, { recursive: true, force: true }));
  const retention = { transcripts: '1s', itemsPerTurn: 2 };
  const config = { log: { level: 'silent' }, retention };
  writeFileSync(join(data, 'troupe.json5'), JSON.stringify(config));
  const port = await reservePort();
  let program: Program = await startProgram(data, port);
  onTestFinished(() => kill(program));
  let client = await connectTo(program.url);
  for (let n = 0; n < SESSIONS; n++)
    await client.request('chat.inject', { sessionKey: `agent:main:s${n}`, message: `note ${n}` });
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const dryRun = await operate<{ counts: { transcripts: number } }>(client, 'retention.sweep', {
    dryRun: true,
  });
  expect(dryRun.counts.transcripts).toBe(SESSIONS);
  operate(client, 'retention.sweep', {}).catch(() => {});
  let inTheMiddle = 0;
  for (let round = 1; round <= KILLS; round++) {
    const after = Math.floor((SESSIONS * round) / (KILLS + 2));
    await eventually(async () =>
      expect((await sweeperOf(client)).removed.transcripts).toBeGreaterThanOrEqual(after),
    );
    if ((await sweeperOf(client)).removed.transcripts < SESSIONS) inTheMiddle++;
    await kill(program);
    client.close();
    program = await startProgram(data, port);
    client = await connectTo(program.url);
  }
  await eventually(async () => {
    const { state, removed, sweep } = await sweeperOf(client);
    expect({ state, removed: removed.transcripts }).toEqual({
      state: 'waiting',
      removed: SESSIONS,
    });
    expect(sweep).toMatchObject({ removed: { transcripts: SESSIONS }, skipped: 0, failed: {} });
  }, 60_000);
  expect(inTheMiddle, 'kills before the end').toBeGreaterThan(0);
  const { records } = await operate<{ records: { on: Record<string, string> }[] }>(
    client,
    'audit',
    { action: 'retention.' },
  );
  const sweeps = records.filter(({ on }) => on?.['transcripts'] !== undefined);
  expect(sweeps.map(({ on }) => on['transcripts'])).toEqual([`${SESSIONS}`]);
  const { sessions } = (await client.request('sessions.list', {})) as { sessions: unknown[] };
  expect(sessions).toEqual([]);
  client.close();
  await kill(program);
});
