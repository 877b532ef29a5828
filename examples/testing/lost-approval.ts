/**
 * An approval is lost. The expense asks its approver and then waits for the answer. It works while
 * the approver is slower than the outcome of the effect that asks.
 */
import { address, type ActorInput, defineActor, effect } from 'troupe';
import type { Address } from 'troupe';
import { simulate, type SimulatedWorld, type SimulationReport } from 'troupe/test';
import { setup } from 'xstate';

/** People who answer after a second, an hour or three days. */
export class Approvers {
  readonly approved = new Set<Address>();
  readonly #world: SimulatedWorld<Approvers>;

  constructor(world: SimulatedWorld<Approvers>) {
    this.#world = world;
  }

  async ask(expense: Address): Promise<void> {
    if (this.approved.has(expense)) return;
    this.approved.add(expense);
    const at = this.#world.random.pick([1_000, 3_600_000, 3 * 86_400_000]);
    const event = { type: 'expense.approve' };
    this.#world.send({ at, to: expense, event, key: `approval of ${expense}` });
  }
}

const machineOf = (handlesEarly: boolean) =>
  setup({
    types: {
      context: {} as { self: Address },
      events: {} as { type: 'expense.submit' } | { type: 'expense.approve' },
      input: {} as ActorInput,
    },
    actors: { askApprover: effect<null, { expense: Address }>() },
  }).createMachine({
    id: 'expense',
    context: ({ input }) => ({ self: input.self }),
    initial: 'new',
    states: {
      new: { on: { 'expense.submit': 'asking' } },
      asking: {
        // The corrected chart receives an answer that is faster than the outcome of the effect.
        on: handlesEarly ? { 'expense.approve': 'approved' } : {},
        invoke: {
          id: 'ask',
          src: 'askApprover',
          input: ({ context }) => ({ expense: context.self }),
          onDone: 'waiting',
          onError: { target: 'asking', reenter: true },
        },
      },
      waiting: { on: { 'expense.approve': 'approved' } },
      approved: {},
    },
  });

const expenseOf = (handlesEarly: boolean) =>
  defineActor({
    type: 'expense',
    version: 1,
    machine: machineOf(handlesEarly),
    effects: {
      askApprover: {
        class: 'repeatable',
        run: async ({ expense }, { services }) => {
          await (services as Approvers).ask(expense);
          return null;
        },
      },
    },
  });

export const mistakenExpense = expenseOf(false);
export const expense = expenseOf(true);

export const checkExpense = (
  actor: typeof expense,
  given: { seed?: number; runs: number; print?: (text: string) => void },
): Promise<SimulationReport> =>
  simulate<Approvers>({
    actors: [actor],
    services: (world) => new Approvers(world),
    load: ['lunch', 'taxi'].map((key) => ({
      to: address('default', 'expense', key),
      event: { type: 'expense.submit' },
      key,
    })),
    atRest: {
      'what was approved is approved': ({ services, actor: find }) =>
        [...services.approved].every((one) => find(one)?.value === 'approved'),
    },
    ...given,
  });
