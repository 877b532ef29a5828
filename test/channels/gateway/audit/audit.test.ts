/** What the gateway records in the audit, on the real runtime. */
import { afterEach, describe, expect, it } from 'vitest';
import type { AuditActionsListResult } from '../../../../protocols/gateway/index.ts';
import type { System } from '../../../../runtime/index.ts';
import { eventually } from '../../../runtime/eventually.ts';
import { type Client, MAIN } from '../client.ts';
import { closeAll, openClient, openGateway } from '../opened.ts';
import { dataFolder, openRealSystem } from '../real-system.ts';

let folder = dataFolder();
let system: System | undefined;

const open = async () => {
  await closeAll();
  await system?.stop();
  system = await openRealSystem(folder.path, 0);
  return openClient(await openGateway(system));
};

afterEach(async () => {
  await closeAll();
  await system?.stop();
  system = undefined;
  folder.remove();
  folder = dataFolder();
});

type Records = AuditActionsListResult['records'];
const recordsOf = async (client: Client, params: object = {}): Promise<Records> => {
  const frame = await client.call('audit.actions.list', params);
  if (!frame.ok) throw new Error(JSON.stringify(frame.error));
  return frame.payload.records;
};
/** Audit messages are applied asynchronously. */
const untilNoted = (client: Client, action: string, outcomes: readonly string[]) =>
  eventually(async () => {
    const records = await recordsOf(client);
    expect(outcomesOf(records, action)).toEqual(outcomes);
    return records;
  });
/** The newest first. */
const outcomesOf = (records: Records, action: string) =>
  records.filter((record) => record.action === action).map(({ outcome }) => outcome);

describe('the audit', () => {
  it('records a change of rights before it is executed, not with the queued records', async () => {
    const client = await open();
    await client.call('agent', { message: 'hello', idempotencyKey: 'r1' });
    await client.frame(({ payload }) => payload?.status === 'ok');
    const reset = await client.call('sessions.reset', { key: MAIN });
    expect(reset.ok).toBe(true);
    const [begun] = await recordsOf(client, { action: 'sessions.reset' });
    expect(begun).toMatchObject({
      who: 'operator',
      by: 'token',
      action: 'sessions.reset',
      outcome: 'begun',
      on: { key: MAIN },
    });
  });

  it('contains the outcomes of actions, also those that were queued when the gateway closed', async () => {
    const before = await open();
    await before.call('chat.send', {
      sessionKey: MAIN,
      message: 'my secret is 4711',
      idempotencyKey: 'c1',
    });
    await before.call('sessions.reset', { key: 'agent:main:none-such' });
    const client = await open();
    const records = await untilNoted(client, 'sessions.reset', ['failed', 'begun']);
    expect(outcomesOf(records, 'chat.send')).toEqual(['done']);
    expect(JSON.stringify(records)).not.toContain('4711');
  });

  it('records requests that were refused for lack of a scope', async () => {
    const client = await open();
    const reader = await openClient(await openGateway(system), { scopes: ['operator.read'] });
    const refused = await reader.call('sessions.reset', { key: MAIN });
    expect(refused.error?.details).toMatchObject({ code: 'MISSING_SCOPE' });
    const list = await reader.call('audit.actions.list');
    expect(list.ok).toBe(false);
    await closeAll();
    const again = await openClient(await openGateway(system));
    expect(client.closed).toBeDefined();
    await untilNoted(again, 'sessions.reset', ['refused']);
  });

  it('is read in pages, by principal and by action', async () => {
    const client = await open();
    for (const name of ['a', 'b', 'c'])
      await client.call('sessions.patch', { key: `agent:main:${name}`, label: name });
    await client.call('sessions.reset', { key: 'agent:main:a' });
    const only = await recordsOf(client, { action: 'sessions.reset', limit: 1 });
    expect(only).toHaveLength(1);
    const first = await client.call('audit.actions.list', { limit: 1 });
    const { nextBefore, day } = first.payload as AuditActionsListResult;
    if (nextBefore !== undefined) {
      const next = await recordsOf(client, { before: nextBefore, ...(day ? { day } : {}) });
      expect(next.every(({ position }) => position < nextBefore)).toBe(true);
    }
    expect(await recordsOf(client, { who: 'unknown' })).toEqual([]);
  });
});
