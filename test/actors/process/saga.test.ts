/**
 * Sagas on a real system: compensated in reverse order, by an operator, across a restart, and five
 * hundred at once.
 */
import { Type } from '@sinclair/typebox';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type About,
  actionOf,
  defineProcess,
  type Results,
  type Step,
} from '../../../actors/process/define.ts';
import { ProcessCatalog } from '../../../actors/process/catalog.ts';
import { defineAction, type Perform } from '../../../actors/task/action.ts';
import { ActionCatalog } from '../../../actors/task/catalog.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Evidence } from '../../../protocols/task.ts';
import { eventually } from '../../runtime/eventually.ts';
import { Stage } from './stage.ts';

/** A warehouse: the test reads its shelf and makes its actions fail. */
class Shop {
  /** by place, the items with the task that put them there */
  readonly shelf = new Map<string, string>();
  readonly undone: string[] = [];
  /** by action: the error that it throws instead of working */
  readonly broken = new Map<string, TroupeError>();
  /** puts nothing on the shelf, but reports that it did */
  reportsFalsely = false;
  /** called while the action works */
  onPay: () => Promise<void> = () => Promise.resolve();

  #act(action: string, work: Perform): Perform {
    return async (payload, context) => {
      const error = this.broken.get(action);
      if (error) throw error;
      return work(payload, context);
    };
  }

  readonly actions = [
    this.#action('shop.reserve_goods', 'clerk', (payload, { idempotencyKey }) => {
      if (!this.reportsFalsely) this.shelf.set(idempotencyKey, String(payload['goods']));
      return Promise.resolve({ id: idempotencyKey });
    }),
    this.#action('shop.release_goods', 'clerk', (payload) => {
      this.shelf.delete(String(payload['id']));
      this.undone.push('reserve');
      return Promise.resolve({ id: payload['id'] });
    }),
    this.#action('shop.take_payment', 'bank', async (_, { idempotencyKey, signal }) => {
      await Promise.race([this.onPay(), aborted(signal)]);
      return { receipt: idempotencyKey };
    }),
    this.#action('shop.refund_payment', 'bank', () => {
      this.undone.push('pay');
      return Promise.resolve({});
    }),
    this.#action('shop.ship_goods', 'clerk', () => Promise.resolve({})),
    this.#action(
      'auditor.check_shelf',
      'auditor',
      (payload, context): Promise<Evidence> => {
        const there = this.shelf.has(String(payload['id']));
        return Promise.resolve({
          job_id: String(payload['job_id']),
          verified: there === (payload['there'] === true),
          artifact_uri: 'urn:shelf',
          artifact_hash: '0'.repeat(64),
          content_type: 'text/plain',
          evidence_ts: new Date(context.now()).toISOString(),
          source_kind: 'shelf',
          detail: there ? 'it is there' : 'it is not there',
        });
      },
      true,
    ),
  ];

  #action(action: string, agent: string, work: Perform, evidence = false) {
    return defineAction({
      action,
      version: '1.0.0',
      description: action,
      agent,
      schemas: { '1.0': Type.Object({ goods: Type.Optional(Type.String({ minLength: 1 })) }) },
      perform: this.#act(action, work),
      attemptsMax: 2,
      backoffMs: { first: 1, max: 2 },
      evidence,
    });
  }
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));

type Input = { readonly goods: string };
const check = (there: boolean) => ({
  action: 'auditor.check_shelf',
  version: '1.0.0',
  payload: (_: Input, __: Results, { processId, taskId }: About) => ({
    job_id: processId,
    id: taskId,
    there,
  }),
});
const steps: readonly Step<Input>[] = [
  {
    name: 'reserve',
    action: 'shop.reserve_goods',
    version: '1.0.0',
    payload: ({ goods }) => ({ goods }),
    verify: check(true),
    compensate: {
      action: 'shop.release_goods',
      version: '1.0.0',
      payload: (_, __, { taskId }) => ({ id: taskId }),
      verify: check(false),
    },
  },
  {
    name: 'pay',
    action: 'shop.take_payment',
    version: '1.0.0',
    payload: () => ({}),
    compensate: { action: 'shop.refund_payment', version: '1.0.0', payload: () => ({}) },
  },
  { name: 'ship', action: 'shop.ship_goods', version: '1.0.0', payload: () => ({}) },
];
const sell = defineProcess({
  action: 'shop.sell_goods',
  version: '1.0.0',
  description: 'Sells goods, or does nothing.',
  payload: Type.Object({ goods: Type.String() }),
  steps,
  result: ({ goods }, results) => ({
    goods,
    receipt: (results['pay'] as { receipt: string }).receipt,
  }),
});

let stage: Stage | undefined;
afterEach(() => stage?.close());
const open = async (shop: Shop): Promise<Stage> => {
  stage = await new Stage(shop.actions, [sell]).open();
  return stage;
};
const SELL = 'shop.sell_goods';
const order = { goods: 'a lamp' };
const away = new TroupeError('UNAVAILABLE', 'it is away');

describe('a saga', () => {
  it('runs its steps in order and returns their results', async () => {
    const shop = new Shop();
    const view = await (await open(shop)).run(SELL, order, 'k1');
    expect(view).toMatchObject({ state: 'SUCCEEDED', result: { result: { goods: 'a lamp' } } });
    expect([...shop.shelf.values()]).toEqual(['a lamp']);
    expect(shop.undone).toEqual([]);
  });

  it('refuses input that does not match its action, and names the mismatch', async () => {
    const shop = new Shop();
    const running = await open(shop);
    expect(await running.run(SELL, { goods: '' }, 'k1')).toMatchObject({
      state: 'FAILED',
      error: { code: 'INVALID_ARGUMENT', message: expect.stringMatching(/reserve_goods.*goods/) },
    });
    expect(shop.shelf.size).toBe(0);
  });

  it('undoes in reverse order the steps that did or may have done something, and names the reason', async () => {
    const shop = new Shop();
    shop.broken.set('shop.ship_goods', new TroupeError('FORBIDDEN', 'no road'));
    const view = await (await open(shop)).run(SELL, order, 'k1');
    expect(view).toMatchObject({
      state: 'COMPENSATED',
      error: {
        code: 'FORBIDDEN',
        details: { step: 'ship', phase: 'act', undone: ['reserve', 'pay'] },
      },
    });
    expect(shop.undone).toEqual(['pay', 'reserve']);
    expect(shop.shelf.size).toBe(0);
  });

  it('believes the verifier and not the agent that did the work', async () => {
    const shop = new Shop();
    shop.reportsFalsely = true;
    const view = await (await open(shop)).run(SELL, order, 'k1');
    expect(view).toMatchObject({
      state: 'COMPENSATED',
      error: {
        code: 'CONFLICT',
        message: expect.stringContaining('did not find it so: it is not there'),
        details: { step: 'reserve', phase: 'verify' },
      },
    });
  });

  it('that is cancelled waits for the running step, undoes it, and ends COMPENSATED', async () => {
    const shop = new Shop();
    const here = await open(shop);
    shop.onPay = () => new Promise(() => {});
    const id = await here.start(SELL, order, 'k1');
    await eventually(() =>
      expect(here.process(id)).toMatchObject({ state: 'acting', step: 'pay' }),
    );
    expect(await here.cancel(id)).toMatchObject({
      kind: 'answered',
      result: { state: 'COMPENSATED', outcome: 'CANCELLED' },
    });
    await eventually(() => expect(here.process(id)?.state).toBe('compensated'));
    expect(shop.shelf.size).toBe(0);
    expect(shop.undone).toContain('reserve');
  });

  it('continues after a restart in the middle and repeats no step', async () => {
    const shop = new Shop();
    const here = await open(shop);
    let paid = 0;
    let reached: () => void = () => {};
    const paying = new Promise<void>((resolve) => (reached = resolve));
    shop.onPay = () => {
      paid++;
      reached();
      return paid === 1 ? new Promise(() => {}) : Promise.resolve();
    };
    const id = await here.start(SELL, order, 'k1');
    await paying;
    await here.restart();
    await eventually(() => expect(here.view(id)?.state).toBe('SUCCEEDED'));
    expect(shop.shelf.size).toBe(1);
    expect(await here.run(SELL, order, 'k1')).toMatchObject({ task_id: id, state: 'SUCCEEDED' });
  });
});

it('is not compensated by a worker of another release that lacks the process', async () => {
  const shop = new Shop();
  const here = await open(shop);
  let reached: () => void = () => {};
  const paying = new Promise<void>((resolve) => (reached = resolve));
  shop.onPay = () => {
    reached();
    return new Promise(() => {});
  };
  const id = await here.start(SELL, order, 'k1');
  await paying;
  shop.onPay = () => Promise.resolve();
  await here.restart([]);
  await eventually(() =>
    expect(here.process(id)).toMatchObject({ state: 'planning', step: 'ship' }),
  );
  await here.restart();
  await eventually(() => expect(here.view(id)?.state).toBe('SUCCEEDED'));
  expect(shop.undone).toEqual([]);
});

describe('a compensation that fails', () => {
  const failing = async () => {
    const shop = new Shop();
    shop.broken.set('shop.ship_goods', new TroupeError('FORBIDDEN', 'no road'));
    shop.broken.set('shop.refund_payment', away);
    const here = await open(shop);
    const id = await here.start(SELL, order, 'k1');
    await eventually(() => expect(here.process(id)?.state).toBe('awaiting_person'));
    const approval = here.process(id)!.approval_id!;
    await eventually(() => expect(here.approval(approval)?.state).toBe('asked'));
    return { shop, here, id, approval };
  };

  it('asks an operator with the error; when tried again, it ends compensated', async () => {
    const { shop, here, id, approval } = await failing();
    expect(here.approval(approval)).toMatchObject({
      state: 'asked',
      title: 'shop.sell_goods: step pay could not be undone',
      detail: expect.stringContaining('UNAVAILABLE: it is away'),
    });
    expect(here.view(id)?.state).toBe('RUNNING');
    shop.broken.delete('shop.refund_payment');
    expect(await here.decide(approval, 'again')).toMatchObject({ kind: 'answered' });
    await eventually(() => expect(here.view(id)?.state).toBe('COMPENSATED'));
    expect(shop.undone).toEqual(['pay', 'reserve']);
  });

  it('is skipped by an operator, and the earlier steps are compensated', async () => {
    const { shop, here, id, approval } = await failing();
    await here.decide(approval, 'skip');
    await eventually(() => expect(here.view(id)?.state).toBe('FAILED'));
    expect(here.view(id)?.error?.details).toMatchObject({ undone: ['reserve'], left: ['pay'] });
    expect(shop.undone).toEqual(['reserve']);
  });

  it('is ended by an operator, and the uncompensated steps are named', async () => {
    const { here, id, approval } = await failing();
    await here.decide(approval, 'abort');
    await eventually(() => expect(here.view(id)?.state).toBe('FAILED'));
    await eventually(() => expect(here.process(id)?.state).toBe('abandoned'));
    expect(here.view(id)?.error?.details).toMatchObject({ undone: [], left: ['reserve', 'pay'] });
  });

  it('waits across a restart and accepts one decision, of an operator only', async () => {
    const { here, id, approval } = await failing();
    await here.restart();
    expect(await here.decide(approval, 'skip', ['agent'])).toMatchObject({
      kind: 'refused',
      error: { code: 'FORBIDDEN', message: expect.stringContaining('role operator') },
    });
    expect(await here.decide(approval, 'skip')).toMatchObject({ kind: 'answered' });
    expect(await here.decide(approval, 'again')).toMatchObject({
      kind: 'refused',
      error: { code: 'CONFLICT', message: expect.stringMatching(/skip by grace at \d{4}-/) },
    });
    await eventually(() => expect(here.view(id)?.state).toBe('FAILED'));
  });
});

it('runs beside 499 others, each to its own end', async () => {
  const shop = new Shop();
  const here = await open(shop);
  const views = await Promise.all(
    Array.from({ length: 500 }, (_, n) => here.run(SELL, { goods: `lamp ${n}` }, `k${n}`)),
  );
  expect(views.filter(({ state }) => state === 'SUCCEEDED')).toHaveLength(500);
  expect(new Set(shop.shelf.values()).size).toBe(500);
}, 120_000);

describe('an invalid process is refused', () => {
  const shop = new Shop();
  const base = { action: SELL, version: '1.0.0', description: 'x', payload: Type.Object({}) };
  const register = (step: Step<unknown>) =>
    new ProcessCatalog(
      [defineProcess({ ...base, steps: [step] })],
      new ActionCatalog(shop.actions),
    );
  const call = (action: string) => ({ action, version: '1.0.0', payload: () => ({}) });

  it.each([
    ['verified by the agent that did it', { verify: call('shop.release_goods') }, /another agent/],
    [
      'verified by an action that returns no evidence',
      { verify: call('shop.take_payment') },
      /no Evidence/,
    ],
    ['made of an action that no agent has', { verify: call('shop.burn_down') }, /no action/],
    [
      'undone and verified by one agent',
      { compensate: { ...call('shop.release_goods'), verify: call('shop.ship_goods') } },
      /another agent/,
    ],
  ])('as it is %s', (_, more, message) => {
    const step = { name: 'reserve', ...call('shop.reserve_goods'), ...more };
    expect(() => register(step)).toThrow(message);
  });

  it('if one of its actions accepts only sealed payloads', () => {
    const sealed = defineAction({
      action: 'shop.keep_secret',
      version: '1.0.0',
      description: 'x',
      agent: 'clerk',
      schemas: { '1.0': Type.Object({}) },
      sensitive: true,
      perform: () => Promise.resolve(null),
    });
    const step = { name: 'keep', ...call('shop.keep_secret') };
    const one = defineProcess({ ...base, steps: [step] });
    expect(() => new ProcessCatalog([one], new ActionCatalog([sealed]))).toThrow(/sealed payloads/);
  });

  it('if two steps have one name, a step has no name, or there are no steps', () => {
    const step = { name: 'a', ...call('shop.ship_goods') };
    expect(() => defineProcess({ ...base, steps: [step, step] })).toThrow(/two steps/);
    expect(() => defineProcess({ ...base, steps: [{ ...step, name: 'A b' }] })).toThrow(
      /not a step name/,
    );
    expect(() => defineProcess({ ...base, steps: [] })).toThrow(/1 to 32 steps/);
  });

  it('if its name and MAJOR version exist already', () => {
    const one = defineProcess({ ...base, steps: [{ name: 'a', ...call('shop.ship_goods') }] });
    const actions = new ActionCatalog([...shop.actions, actionOf(one)]);
    expect(() => new ProcessCatalog([one, one], actions)).toThrow(/registered twice/);
  });
});
