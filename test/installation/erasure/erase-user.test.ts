/** A user's own sessions and a whole tenant are erased; held data and shared sessions stay. */
import { expect, it, onTestFinished } from 'vitest';
import {
  erasureAddress,
  legalHoldAddress,
  type ErasureTarget,
} from '../../../protocols/erasure.ts';
import { address } from '../../../protocols/address.ts';
import type { System } from '../../../runtime/index.ts';
import { install, providerOf } from '../../agent-runs/installation.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { startModelServer } from '../../servers/model-server.ts';
import { ask, erase, filesWith, fillSession, OPEN_CONFIG, OPERATOR } from './canary.ts';

const CANARY = 'xq7erased-canary';
const OTHER = 'zw3other-canary';
const USER = { tenant: 'default', kind: 'user', id: 'telegram:4711' } as const;
const TENANT = { tenant: 'default', kind: 'tenant', id: 'default' } as const;

const answerOf = (system: System, { tenant, kind, id }: ErasureTarget) =>
  system.ask(
    erasureAddress({ tenant, kind, id }),
    { type: 'erasure.request', kind, id, who: 'ada' },
    { principal: OPERATOR, timeoutMs: 20_000 },
  );

it('the sessions of a user are erased, and those of others stay', {
  timeout: 120_000,
}, async () => {
  const data = scratchFolder();
  const troupe = await install({ config: OPEN_CONFIG, data });
  const { system } = troupe;
  await fillSession(troupe, 'agent:main:one', CANARY, USER.id);
  await fillSession(troupe, 'agent:main:two', OTHER, 'telegram:99');
  await troupe.run('agent:main:both', 'mine', { sender: USER.id });
  await troupe.run('agent:main:both', 'shared-with-others', { sender: 'telegram:99' });

  const row = await erase(system, USER);
  expect(filesWith(data, CANARY)).toEqual([]);
  expect(row).toMatchObject({ shared: 1, counts: { sessions: 2 } });
  expect(JSON.stringify(await troupe.transcript('agent:main:two'))).toContain(OTHER);
  expect(JSON.stringify(await troupe.transcript('agent:main:both'))).toContain(
    'shared-with-others',
  );
});

it('what is held is refused, for the session, its user and its tenant', {
  timeout: 120_000,
}, async () => {
  const data = scratchFolder();
  const troupe = await install({ config: OPEN_CONFIG, data });
  const { system } = troupe;
  await troupe.run('agent:main:one', `I say ${CANARY}`, { sender: USER.id });
  const session = { tenant: 'default', kind: 'session', id: 'agent:main:one' } as const;
  for (const held of [session, USER, TENANT]) {
    const hold = legalHoldAddress(held);
    const { kind, id } = held;
    await ask(system, hold, { type: 'hold.set', kind, id, why: 'case 4711', who: 'ada' });
    for (const target of [session, USER, TENANT])
      expect(await answerOf(system, target)).toMatchObject({
        kind: 'refused',
        error: { code: 'CONFLICT', details: { reason: 'HELD' } },
      });
    await ask(system, hold, { type: 'hold.release' });
  }
  expect(filesWith(data, CANARY)).not.toEqual([]);
  await erase(system, session);
  expect(filesWith(data, CANARY)).toEqual([]);
});

it('a tenant is erased; its agents answer again afterwards', { timeout: 120_000 }, async () => {
  const data = scratchFolder();
  const troupe = await install({ config: OPEN_CONFIG, data });
  const { system } = troupe;
  await fillSession(troupe, 'agent:main:one', CANARY);
  await erase(system, TENANT);
  expect(filesWith(data, CANARY)).toEqual([]);
  expect(await system.actors.list('default', { type: 'session' })).toEqual([]);
  await troupe.run('agent:main:one', 'hello');
});

it('a running turn is stopped, and its late answer brings nothing back', {
  timeout: 120_000,
}, async () => {
  const api = 'anthropic-messages';
  const server = await startModelServer({ api });
  onTestFinished(() => server.close());
  const data = scratchFolder();
  const troupe = await install({
    config: { models: { providers: { p: providerOf(api, server) } } },
    data,
  });
  const { system } = troupe;
  const key = 'agent:main:trial';
  server.script({ kind: 'stall', deltas: [`${CANARY} begins`] });
  await troupe.send(key, `say ${CANARY}`);
  await eventually(() => expect(server.requests).toHaveLength(1));
  await erase(system, { tenant: 'default', kind: 'session', id: key });
  expect(filesWith(data, CANARY)).toEqual([]);
  expect(system.index.get('sessions', 'default', key)).toBeUndefined();
  expect(system.inspect(address('default', 'session', key))).toBeUndefined();
  server.script({ kind: 'answer', deltas: ['a new session'] });
  await troupe.run(key, 'hello');
  expect(JSON.stringify(await troupe.transcript(key))).not.toContain(CANARY);
  expect(filesWith(data, CANARY)).toEqual([]);
});
