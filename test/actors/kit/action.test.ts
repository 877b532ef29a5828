/**
 * `action` resolves itself instead of by XState's `enqueueActions`. Any difference between the two,
 * in the snapshot or in what the host executes, is a bug.
 */
import { expect, it } from 'vitest';
import {
  type AnyStateMachine,
  assign,
  createMachine,
  enqueueActions,
  initialTransition,
  transition,
} from 'xstate';
import { action, type ActionResult, type HostAction } from '../../../actors/kit/handlers.ts';
import { hostActions } from '../../../protocols/statechart.ts';

type Context = { readonly count: number; readonly kept: string };
type Add = { readonly type: 'add'; readonly by: number };
type Event = Add | { readonly type: 'leave' };
type Args = { readonly context: Context; readonly event: Event };

const publish = (n: number): HostAction => ({
  type: 'publish',
  params: { topic: 'counts', event: { type: 'count', n } },
});

const added = ({ context, event }: Args): ActionResult<Context> => {
  if (event.type !== 'add') return { send: [publish(0)] };
  const count = context.count + event.by;
  return event.by === 0
    ? {}
    : { change: { count }, send: [publish(context.count), publish(count)] };
};

const ofKit = action<Context, Event, ActionResult<Context>>(added, (_, result) => result);
/** The same action, resolved by XState. */
const ofXState = enqueueActions(({ enqueue, ...args }) => {
  const { change, send = [] } = added(args as unknown as Args);
  for (const one of send) (enqueue as (one: HostAction) => void)(one);
  if (change) enqueue.assign(change);
});

const machineWith = (add: unknown): AnyStateMachine =>
  createMachine(
    {
      id: 'counter',
      context: { count: 1, kept: 'kept' },
      type: 'parallel',
      states: {
        counting: {
          tags: ['counts'],
          initial: 'few',
          states: {
            few: {
              entry: 'add',
              on: {
                add: [
                  { guard: 'isLarge', target: 'many', actions: ['add', 'double'] },
                  { actions: ['add', 'double', 'add'] },
                ],
              },
            },
            many: { entry: 'add', on: { leave: 'few' } },
          },
        },
        other: {},
      },
    },
    {
      actions: {
        ...hostActions,
        add,
        double: assign({ count: ({ context }) => (context as Context).count * 2 }),
      } as never,
      guards: { isLarge: ({ event }) => (event as Event).type === 'add' && (event as Add).by > 9 },
    },
  );

const comparable = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, part: unknown) =>
      ['machine', '_nodes', 'info'].includes(key) ? undefined : part,
    ),
  );

it('an action leaves the same snapshot, and executes the same, as one that XState resolves', () => {
  const [own, theirs] = [machineWith(ofKit), machineWith(ofXState)];
  let a = initialTransition(own);
  let b = initialTransition(theirs);
  const compare = () => {
    // The host reads the type and the params of what is executed, and not XState's `info`.
    expect(comparable(a)).toEqual(comparable(b));
    expect(Object.keys(a[0]).toSorted()).toEqual(Object.keys(b[0]).toSorted());
    expect([...a[0].tags]).toEqual([...b[0].tags]);
    expect(a[0]._nodes.map(({ id }) => id)).toEqual(b[0]._nodes.map(({ id }) => id));
  };
  compare();
  for (const event of [
    { type: 'add', by: 2 },
    { type: 'add', by: 0 },
    { type: 'leave' },
    { type: 'add', by: 12 },
    { type: 'leave' },
    { type: 'add', by: -3 },
  ]) {
    [a, b] = [transition(own, a[0], event), transition(theirs, b[0], event)];
    compare();
  }
  expect(a[0].context).toMatchObject({ kept: 'kept', count: 127 });
});
