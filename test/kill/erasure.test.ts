/**
 * Kill -9 in the middle of an erasure: it continues after the start, and ends with nothing of the
 * session in any file.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
import type { ErasureRow } from '../../protocols/erasure.ts';
import { filesWith } from '../installation/erasure/canary.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { connectTo } from './conversations.ts';
import { kill, type Program, startProgram } from './program.ts';

const CANARY = 'xq7erased-canary';
const OTHER = 'zw3other-canary';
const KEY = 'agent:main:trial';
const NOTES = 300;
const STATES = ['surveying', 'removing', 'scrubbing'] as const;

const operate = async <Result>(client: GatewayClient, name: string, params: object) =>
  (await client.request('operations.run', { name, params: { ...params } })) as Result;

async function say(client: GatewayClient, sessionKey: string, message: string): Promise<void> {
  const run = { message, sessionKey, idempotencyKey: message };
  await client.request('agent', run, { expectFinal: true });
}

it('kill -9 at any step of an erasure leaves nothing of the session', {
  timeout: 600_000,
}, async () => {
  const data = mkdtempSync(join(tmpdir(), 'troupe-erasure-kill-'));
  onTestFinished(() => rmSync(data, { recursive: true, force: true }));
  mkdirSync(data, { recursive: true });
  writeFileSync(join(data, 'troupe.json5'), JSON.stringify({ log: { level: 'silent' } }));
  const port = await reservePort();
  let program: Program = await startProgram(data, port);
  onTestFinished(() => kill(program));
  for (const round of STATES.keys()) {
    let client = await connectTo(program.url);
    await say(client, KEY, `round ${round} says ${CANARY}`);
    for (let n = 0; n < NOTES; n++)
      await client.request('chat.inject', { sessionKey: KEY, message: `${CANARY} note ${n}` });
    await say(client, 'agent:main:other', `round ${round} says ${OTHER}`);
    expect(filesWith(data, CANARY)).not.toEqual([]);

    const beganAt = Date.now();
    const row = async () => {
      const found = await operate<ErasureRow>(client, 'erasures.get', {
        erasure: `session:${KEY}`,
      });
      expect(found.requestedAt).toBeGreaterThanOrEqual(beganAt);
      return found;
    };
    const request = operate(client, 'erasures.session', { id: KEY });
    request.catch(() => {});
    // A state that lasts too short to be seen counts when it is over.
    await eventually(async () => {
      const { state } = await row();
      expect(
        state === 'done' ? STATES.length : STATES.indexOf(state as 'removing'),
      ).toBeGreaterThanOrEqual(round);
    });
    await kill(program);
    client.close();
    program = await startProgram(data, port);
    client = await connectTo(program.url);
    await eventually(async () => expect(await row()).toMatchObject({ state: 'done' }), 60_000);
    expect(filesWith(data, CANARY)).toEqual([]);
    const { messages } = (await client.request('chat.history', {
      sessionKey: 'agent:main:other',
      limit: 100,
    })) as { messages: unknown[] };
    expect(JSON.stringify(messages)).toContain(`round ${round} says ${OTHER}`);
    client.close();
  }
  await kill(program);
  expect(filesWith(data, CANARY)).toEqual([]);
});
