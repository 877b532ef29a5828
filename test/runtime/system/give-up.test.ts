/**
 * Work that never succeeds, beside work that succeeds: it is tried seven times and then becomes a
 * dead letter of its domain. No other work waits for it.
 */
import { expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import { type Address, address } from '../../../protocols/address.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import {
  type ActorInput,
  type Delivered,
  effect,
  hostActions,
  type Message,
} from '../../../protocols/statechart.ts';
import { defineActor } from '../../../runtime/index.ts';
import { eventually } from '../eventually.ts';
import { openWorld } from './world.ts';

const ATTEMPTS = 7;

type Context = {
  readonly self: Address;
  readonly attempt: number;
  readonly order: Message;
};
type Order = Delivered<Message & { type: 'order' }>;
const bare = ({ meta: _, ...event }: Order): Message => event;

const machine = setup({
  types: { context: {} as Context, events: {} as Order, input: {} as ActorInput },
  actors: { charge: effect<unknown, Message>() },
  actions: {
    ...hostActions,
    keepOrder: assign({ order: ({ event }) => bare(event), attempt: 0 }),
    countAttempt: assign({ attempt: ({ context }) => context.attempt + 1 }),
  },
  guards: { attemptsRemain: ({ context }) => context.attempt < ATTEMPTS },
  delays: { backoff: ({ context }) => 2 ** context.attempt },
}).createMachine({
  id: 'job',
  context: ({ input }) => ({ self: input.self, attempt: 0, order: { type: 'order' } }),
  initial: 'idle',
  on: { order: { target: '.charging', actions: 'keepOrder' } },
  states: {
    idle: { description: 'nothing to do' },
    charging: {
      description: 'one attempt',
      entry: 'countAttempt',
      invoke: {
        id: 'charge',
        src: 'charge',
        input: ({ context }) => context.order,
        onDone: 'paid',
        onError: [{ guard: 'attemptsRemain', target: 'waiting' }, { target: 'failed' }],
      },
    },
    waiting: { description: 'before the next attempt', after: { backoff: 'charging' } },
    paid: { description: 'it succeeded' },
    failed: {
      description: 'given up',
      entry: {
        type: 'deadLetter',
        params: ({ context }) => ({
          domain: 'orders',
          reason: 'EXHAUSTED',
          error: { code: 'UNAVAILABLE' as const, message: `${context.attempt} attempts failed` },
          to: context.self,
          event: context.order,
        }),
      },
    },
  },
});

it('work that never succeeds is abandoned after its attempts, and all other work is done meanwhile', async () => {
  let fixed = false;
  let release = () => {};
  const last = new Promise<void>((resolve) => (release = resolve));
  const tries: unknown[] = [];
  const jobType = defineActor({
    type: 'job',
    version: 1,
    machine,
    effects: {
      charge: {
        class: 'repeatable',
        run: async (order, { traceId }) => {
          if (!order['poison'] || fixed) return 'paid';
          if (tries.push(traceId) === ATTEMPTS) await last;
          throw new TroupeError('UNAVAILABLE', 'the bank does not answer');
        },
      },
    },
  });
  const world = await openWorld({ actors: [jobType], shards: 1, tenantRunningMax: 2 });
  const job = (key: string) => address('t', 'job', key);
  const bad = job('bad');
  const others = Array.from({ length: 30 }, (_, n) => job(`n${n}`));
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  await world.tell(bad, { type: 'order', poison: true, n: 7 }, { traceId });
  for (const other of others) await world.tell(other, { type: 'order' });
  await eventually(() => {
    expect(tries).toHaveLength(ATTEMPTS);
    for (const other of others)
      expect(world.system.inspect(other)).toMatchObject({ value: 'paid' });
  });
  expect(await world.system.deadLetters.list()).toEqual([]);
  release();
  const [letter] = await world.letters(1);
  expect(letter).toMatchObject({
    domain: 'orders',
    from: bad,
    to: bad,
    event: { type: 'order', poison: true, n: 7 },
    error: { message: '7 attempts failed' },
  });
  // Later attempts are caused by a timer, which has no trace.
  expect(tries[0]).toBe(traceId);
  fixed = true;
  const audit = { who: 'otto', why: 'the bank answers' };
  await world.system.deadLetters.redrive(letter!.position, audit, 'orders');
  await eventually(() => expect(world.system.inspect(bad)).toMatchObject({ value: 'paid' }));
});
