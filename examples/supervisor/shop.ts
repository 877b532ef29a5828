/** A till of a shop that counts its sales and can fail. A supervisor supervises several. */
import { assign, setup } from 'xstate';
import { type ActorInput, defineActor, hostActions, supervisionActors } from 'troupe';

type TillEvent = { type: 'till.open' } | { type: 'till.sell' } | { type: 'till.jam' };

const tillMachine = setup({
  types: {
    context: {} as { sold: number },
    events: {} as TillEvent,
    input: {} as ActorInput,
  },
  actions: {
    ...hostActions,
    emptyDrawer: assign({ sold: 0 }),
    countSale: assign(({ context }) => ({ sold: context.sold + 1 })),
    jam: assign(() => {
      throw new Error('the till jams');
    }),
  },
}).createMachine({
  id: 'till',
  description: 'Counts sales. A turn that jams is undone, and the supervisor decides.',
  context: { sold: 0 },
  initial: 'open',
  states: {
    open: {
      description: 'Sells.',
      on: {
        'till.open': { actions: 'emptyDrawer' },
        'till.sell': { actions: 'countSale' },
        'till.jam': { actions: 'jam' },
      },
    },
  },
});

/**
 * What a system needs to supervise tills. The root is the supervisor of actors without another one.
 */
export const shopActors = [
  ...supervisionActors(),
  defineActor({ type: 'till', version: 1, machine: tillMachine }),
];
