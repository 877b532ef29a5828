/**
 * Kill -9 while an erasure writes the data file again, and messages arrive in other sessions: those
 * keep every entry, and answer each accepted message once.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
import type { ErasureRow } from '../../protocols/erasure.ts';
import { filesWith } from '../installation/erasure/canary.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { account, connectTo, Conversations, OWN_RUNS } from './conversations.ts';
import { kill, type Program, startProgram } from './program.ts';

const CANARY = 'xq7erased-canary';
const KEY = 'agent:main:trial';
const OLD = 'agent:main:old';
const ROUNDS = Number(process.env['TROUPE_ERASURE_ROUNDS'] ?? 2);
const NOTES = 100;
const NOTE_BYTES = 20_000;
/** The kill comes this long after the scrub was seen, and a multiple of it in later rounds. */
const STEP_MS = 13;

async function inject(client: GatewayClient, sessionKey: string, text: string): Promise<void> {
  for (let n = 0; n < NOTES; n++)
    await client.request('chat.inject', { sessionKey, message: `${text} ${n}` });
}

async function messagesOf(client: GatewayClient, sessionKey: string): Promise<string> {
  const { messages } = await client.request('chat.history', { sessionKey, limit: 1_000 });
  return JSON.stringify(messages);
}

const rowOf = (client: GatewayClient) =>
  client.request('operations.run', {
    name: 'erasures.get',
    params: { erasure: `session:${KEY}` },
  }) as Promise<unknown> as Promise<ErasureRow>;

/** Erases the session under load, and kills the program while it scrubs. */
async function eraseAndKill(program: Program, load: Conversations, delayMs: number) {
  const client = await connectTo(program.url);
  const other = await connectTo(program.url);
  await inject(client, KEY, CANARY);
  const sending = load.load(other);
  const since = Date.now();
  client
    .request('operations.run', { name: 'erasures.session', params: { id: KEY } })
    .catch(() => {});
  await eventually(async () => {
    const { state, requestedAt } = await rowOf(client);
    expect(requestedAt).toBeGreaterThanOrEqual(since);
    expect(['scrubbing', 'done']).toContain(state);
  }, 60_000);
  await sleep(delayMs);
  await kill(program);
  await sending;
  client.close();
  other.close();
}

it('kill -9 during a scrub costs no other session anything', {
  timeout: 240_000 + ROUNDS * 120_000,
}, async () => {
  const data = mkdtempSync(join(tmpdir(), 'troupe-erasure-load-'));
  onTestFinished(() => rmSync(data, { recursive: true, force: true }));
  writeFileSync(join(data, 'troupe.json5'), `{ log: { level: 'silent' }, ${OWN_RUNS} }`);
  const port = await reservePort();
  let program = await startProgram(data, port);
  onTestFinished(() => kill(program));
  const first = await connectTo(program.url);
  await inject(first, OLD, 'o'.repeat(NOTE_BYTES));
  const before = await messagesOf(first, OLD);
  expect(before.length).toBeGreaterThan(NOTES * NOTE_BYTES);
  first.close();

  const loads: Conversations[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const load = new Conversations(round, Math.random);
    loads.push(load);
    await eraseAndKill(program, load, round * STEP_MS);
    program = await startProgram(data, port);
    const client = await connectTo(program.url);
    await load.repeatUnanswered(client);
    await eventually(
      async () => expect(await rowOf(client)).toMatchObject({ state: 'done' }),
      60_000,
    );
    expect(filesWith(data, CANARY)).toEqual([]);
    expect(await messagesOf(client, OLD)).toBe(before);
    client.close();
  }
  const client = await connectTo(program.url);
  await account(
    client,
    loads.flatMap(({ sent }) => sent),
  );
  client.close();
});
