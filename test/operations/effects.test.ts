/** Decisions about effects with an unknown outcome, with a system that the test plays. */
import { expect, it } from 'vitest';
import { effects } from '../../operations/effects.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { address } from '../../protocols/address.ts';
import type { Decision } from '../../runtime/index.ts';

const effectOf = (tenant: string, at: number) => ({
  id: `${tenant}|${at}`,
  actor: address(tenant, 'session', 'agent:main:main'),
  effect: 'runTool',
  attempt: 1,
  at,
  input: { command: 'use the secret' },
});

const open = () => {
  const decided: (readonly [string, Decision])[] = [];
  const system = {
    unknownEffects: () => [effectOf('default', 2), effectOf('default', 1), effectOf('acme', 3)],
    decide: async (id: string, decision: Decision) => {
      decided.push([id, decision]);
      return { kind: 'accepted' as const, id: 'm1' };
    },
  };
  const context = {
    system,
    tenant: 'default',
    caller: { sub: 'op' },
    maskSecrets: (text: string) => text.replace('secret', '***'),
  } as unknown as OperationContext;
  const [list, decide] = effects.operations;
  return {
    decided,
    list: () => list!.run(context, {}),
    decide: (params: Record<string, unknown>) => decide!.run(context, params),
  };
};

it('lists those of the tenant, oldest first, with masked secrets', async () => {
  expect(await open().list()).toMatchObject({
    effects: [{ id: 'default|1', input: { command: 'use the ***' } }, { id: 'default|2' }],
  });
});

it('decides them, and refuses those of other tenants and a failure without a reason', async () => {
  const { decide, decided } = open();
  await decide({ id: 'default|1', decision: 'again' });
  await decide({ id: 'default|1', decision: 'done', output: 3 });
  await decide({ id: 'default|1', decision: 'failed', why: 'it bounced' });
  expect(decided).toEqual([
    ['default|1', { kind: 'again' }],
    ['default|1', { kind: 'done', output: 3 }],
    ['default|1', { kind: 'failed', error: { code: 'INTERNAL', message: 'it bounced' } }],
  ]);
  await expect(decide({ id: 'acme|3', decision: 'again' })).rejects.toThrow('acme|3');
  await expect(decide({ id: 'default|2', decision: 'failed' })).rejects.toThrow('/why');
});
