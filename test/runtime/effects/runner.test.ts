/** The limit of concurrent effects, and the order of the effects that wait. */
import { beforeEach, describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import { type Address, address } from '../../../protocols/address.ts';
import { effect } from '../../../protocols/statechart.ts';
import { defineActor } from '../../../runtime/actor/define-actor.ts';
import { createRegistry } from '../../../runtime/actor/registry.ts';
import { EffectRunner } from '../../../runtime/effects/runner.ts';
import type { TenantWeights } from '../../../runtime/fairness/fair-queue.ts';
import type { EffectContext } from '../../../runtime/index.ts';
import type { Intent } from '../../../runtime/shard/turn/intents.ts';
import { settled, VirtualClock } from '../../../library/simulation/virtual-clock.ts';

const machine = setup({ actors: { work: effect<string, object>() } }).createMachine({
  id: 'worker',
  initial: 'working',
  states: { working: { description: 'works', invoke: { id: 'job', src: 'work', input: {} } } },
});

/** The started effects in order, and a function that ends each one. */
let began: {
  readonly id: string;
  readonly end: () => void;
  readonly signal: AbortSignal;
  readonly traceId: string | undefined;
}[];
let reported: string[];
let runner: EffectRunner;
beforeEach(() => open());

function open(tenantWeights: TenantWeights = {}, limits: Limits = {}): void {
  began = [];
  reported = [];
  const run = (_input: unknown, { id, attempt, signal, traceId }: EffectContext) =>
    new Promise<string>((resolve) => {
      const name = `${id.slice('cell:'.length)}.${attempt}`;
      began.push({ id: name, end: () => resolve('done'), signal, traceId });
    });
  const worker = defineActor({
    type: 'worker',
    version: 1,
    machine,
    effects: { work: { class: 'repeatable', run } },
  });
  runner = new EffectRunner({
    registry: createRegistry([worker]),
    clock: new VirtualClock(),
    cell: 'cell',
    index: async () => ({ get: () => undefined, list: () => [], scan: async () => {} }),
    row: async () => undefined,
    past: () => Promise.reject(new Error('not asked for')),
    transcripts: { read: async () => [], last: async () => 0 },
    publish: () => {},
    report: async (_actor, id, attempt) => void reported.push(`${id}.${attempt}`),
    services: undefined,
    alarm: () => {},
    runningMax: 2,
    tenantWeights,
    ...limits,
  });
}
type Limits = { readonly runningMax?: number; readonly tenantRunningMax?: number };

const intentOf = (actor: Address, attempt = 1): Intent => ({
  actor,
  machine: 'worker@1',
  job: 'job',
  key: 'job',
  src: 'work',
  cls: 'repeatable',
  state: 'open',
  attempt,
  epoch: 0,
  at: 0,
  input: {},
});
const run = (tenant: string, id: string, { key = 'k', attempt = 1 } = {}) =>
  runner.run(id, intentOf(address(tenant, 'worker', key), attempt));
/** Ends the oldest running effect, this number of times. */
async function end(count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    began[reported.length]!.end();
    await settled();
  }
}
const ids = () => began.map(({ id }) => id);

it('the first call of a tenant is next, although another tenant has 10,000 waiting calls', async () => {
  for (let n = 0; n < 10_002; n++) run('flood', `f${n}`);
  run('calm', 'c');
  expect(ids()).toEqual(['f0.1', 'f1.1']);
  await end(2);
  expect(ids()).toContain('c.1');
  expect(runner.running).toBe(10_001);
});

it('waiting tenants are served by their weights, and an actor’s effects in order', async () => {
  open({ gold: 3 });
  for (let n = 0; n < 22; n++) run('gold', `g${n}`);
  for (let n = 0; n < 20; n++) run('plain', `p${n}`);
  await end(20);
  const waited = ids().slice(2);
  expect(waited.filter((id) => id.startsWith('g'))).toHaveLength(15);
  expect(waited.filter((id) => id.startsWith('p'))).toEqual([0, 1, 2, 3, 4].map((n) => `p${n}.1`));
});

it('changed weights count for tenants that wait already', async () => {
  let weights: Record<string, number> = {};
  open(() => weights);
  for (let n = 0; n < 60; n++) for (const tenant of ['gold', 'plain']) run(tenant, `${tenant}${n}`);
  const share = (waited: readonly string[]) =>
    waited.filter((id) => id.startsWith('gold')).length / waited.length;
  await end(20);
  expect(share(ids().slice(2))).toBe(0.5);
  weights = { gold: 4 };
  await end(2);
  const before = ids().length;
  await end(25);
  expect(share(ids().slice(before))).toBe(0.8);
});

it("runs effects of a tenant's actors in turn", async () => {
  for (let n = 0; n < 50; n++) run('a', `h${n}`, { key: 'hot' });
  run('a', 'c', { key: 'calm' });
  await end(2);
  expect(ids()).toContain('c.1');
});

it('an effect that is aborted while it waits leaves the queue, never starts and reports nothing', async () => {
  for (const id of ['1', '2', '3', '4']) run('a', id);
  runner.abort('3');
  expect([runner.running, runner.isRunning('3')]).toEqual([3, false]);
  await end(2);
  expect(ids()).toEqual(['1.1', '2.1', '4.1']);
  await end(1);
  expect([reported, runner.running]).toEqual([['1.1', '2.1', '4.1'], 0]);
});

it('an effect that is aborted while it runs frees one slot, once', async () => {
  for (const id of ['1', '2', '3', '4']) run('a', id);
  runner.abort('1');
  await settled();
  expect(began[0]!.signal.aborted).toBe(true);
  expect(ids()).toEqual(['1.1', '2.1', '3.1']);
  runner.abort('1');
  await settled();
  expect(ids()).toHaveLength(3);
});

it('a later attempt replaces a waiting one', async () => {
  for (const id of ['1', '2', '3']) run('a', id);
  run('a', '3', { attempt: 2 });
  run('a', '3', { attempt: 2 });
  await end(2);
  await end(1);
  expect([ids(), reported]).toEqual([
    ['1.1', '2.1', '3.2'],
    ['1.1', '2.1', '3.2'],
  ]);
});

it('stop aborts running effects; waiting ones never start', async () => {
  for (const id of ['1', '2', '3']) run('a', id);
  runner.stop();
  await settled();
  expect(began.map(({ signal }) => signal.aborted)).toEqual([true, true]);
  run('b', '4');
  await settled();
  expect([runner.running, reported]).toEqual([0, []]);
});

describe('a tenant at its own limit', () => {
  beforeEach(() => open({}, { runningMax: 3, tenantRunningMax: 2 }));

  it('leaves slots that other tenants use at once, without waiting behind its queue', () => {
    for (let n = 0; n < 1_000; n++) run('flood', `f${n}`);
    expect(ids()).toEqual(['f0.1', 'f1.1']);
    run('calm', 'c0');
    expect(ids()).toEqual(['f0.1', 'f1.1', 'c0.1']);
  });

  it('continues in order when one of its own effects ends', async () => {
    for (let n = 0; n < 20; n++) run('a', `a${n}`);
    for (let done = 0; done < 20; done++) {
      expect(began.length - reported.length).toBe(Math.min(2, 20 - done));
      await end(1);
    }
    expect(ids()).toEqual(Array.from({ length: 20 }, (_, n) => `a${n}.1`));
    expect(runner.running).toBe(0);
  });

  it('is never passed over permanently, however many others wait for the limit of all', async () => {
    for (let n = 0; n < 6; n++) run('a', `a${n}`);
    for (const tenant of ['b', 'c', 'd']) for (let n = 0; n < 50; n++) run(tenant, tenant + n);
    await end(40);
    expect(ids()).toContain('a5.1');
    const running = began.filter(({ id }) => !reported.includes(id));
    expect(running).toHaveLength(3);
  });

  it('forgets an aborted waiting effect in either queue, and frees the slot of an aborted running one', async () => {
    for (const id of ['1', '2', '3', '4']) run('a', id);
    for (const id of ['5', '6', '7', '8']) run('b', id);
    expect(ids()).toEqual(['1.1', '2.1', '5.1']);
    for (const id of ['3', '6', '7']) runner.abort(id);
    await end(1);
    expect(ids()).toEqual(['1.1', '2.1', '5.1', '8.1']);
    runner.abort('2');
    await settled();
    expect(ids()).toEqual(['1.1', '2.1', '5.1', '8.1', '4.1']);
  });
});

it('a limit of zero is refused', () => {
  for (const tenantRunningMax of [0, -1, Number.NaN])
    expect(() => open({}, { tenantRunningMax })).toThrow(/at least 1/);
});

it('an effect receives the trace of its cause', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  runner.run('t', { ...intentOf(address('a', 'worker', 'k')), traceId });
  run('a', 'u');
  await settled();
  expect(began.map((one) => one.traceId)).toEqual([traceId, undefined]);
});
