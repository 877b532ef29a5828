/**
 * A bill is charged twice: after a failure the chart tries again, and each try is a new charge for
 * the bank. It works until a response is lost.
 */
import { address, type ActorInput, defineActor, effect } from 'troupe';
import { simulate, type SimulationReport } from 'troupe/test';
import { setup } from 'xstate';

/** The bank knows a charge by its reference, and takes the money once for each. */
export class Bank {
  readonly charges = new Map<string, number>();

  async charge(reference: string, cents: number): Promise<string> {
    this.charges.set(reference, cents);
    return `receipt for ${reference}`;
  }
}

type Charge = { bill: string; cents: number };

const machine = setup({
  types: {
    context: {} as Charge,
    events: {} as { type: 'bill.pay' },
    input: {} as ActorInput,
  },
  actors: { charge: effect<string, Charge>() },
  delays: { pause: 5_000 },
}).createMachine({
  id: 'bill',
  context: ({ input }) => ({ bill: input.self, cents: 4_200 }),
  initial: 'open',
  states: {
    open: { on: { 'bill.pay': 'charging' } },
    charging: {
      invoke: {
        id: 'charge',
        src: 'charge',
        input: ({ context }) => context,
        onDone: 'paid',
        onError: 'waiting',
      },
    },
    waiting: { after: { pause: 'charging' } },
    paid: {},
  },
});

/** With the mistake: the reference is another one for each intent, and a retry is a new intent. */
export const mistakenBill = defineActor({
  type: 'bill',
  version: 1,
  machine,
  effects: {
    charge: {
      class: 'keyed',
      run: ({ cents }, { id, services }) => (services as Bank).charge(id, cents),
    },
  },
});

/** Corrected: a bill has one reference, however often its charge is tried. */
export const bill = defineActor({
  type: 'bill',
  version: 1,
  machine,
  effects: {
    charge: {
      class: 'keyed',
      run: ({ bill: reference, cents }, { services }) =>
        (services as Bank).charge(reference, cents),
    },
  },
});

export const checkBill = (
  actor: typeof bill,
  given: { seed?: number; runs: number; print?: (text: string) => void },
): Promise<SimulationReport> =>
  simulate({
    actors: [actor],
    services: () => new Bank(),
    load: (random) =>
      ['1', '2', '3'].map((key) => ({
        at: random.whole(0, 60_000),
        to: address('default', 'bill', key),
        event: { type: 'bill.pay' },
        key,
      })),
    invariants: {
      'each bill is charged once': ({ services, actors }) =>
        services.charges.size <= actors('bill').length,
    },
    atRest: {
      'each bill is paid': ({ actors }) => actors('bill').every(({ value }) => value === 'paid'),
    },
    ...given,
  });
