/**
 * A task is delegated endlessly. Two workers have tools that fail at times, and each gives what it
 * cannot do to the other. It works while one of the two tools works.
 */
import { address, type ActorInput, defineActor, type Delivered, effect } from 'troupe';
import { hostActions } from 'troupe';
import { simulate, type SimulatedWorld, type SimulationReport } from 'troupe/test';
import { assign, setup } from 'xstate';

/** A tool that is out of order for some tasks. */
export class Tool {
  readonly #broken: string;
  readonly done: string[] = [];

  constructor(world: SimulatedWorld<Tool>) {
    this.#broken = world.random.pick(['none', 'a', 'b', 'both']);
  }

  async work(worker: string): Promise<string> {
    if (this.#broken === 'both' || worker.endsWith(this.#broken)) throw new Error('out of order');
    this.done.push(worker);
    return 'done';
  }
}

type Task = Delivered<{ type: 'task.do'; hops: number }>;
const HOPS_MAX = 3;

const workerOf = (isBounded: boolean) => {
  const machine = setup({
    types: {
      context: {} as { self: string; hops: number },
      events: {} as Task,
      input: {} as ActorInput,
    },
    actors: { work: effect<string, { worker: string }>() },
    actions: { ...hostActions, keep: assign(({ event }) => ({ hops: event.hops })) },
    guards: { mayDelegate: ({ context }) => !isBounded || context.hops < HOPS_MAX },
  }).createMachine({
    id: 'worker',
    context: ({ input }) => ({ self: input.self, hops: 0 }),
    initial: 'idle',
    states: {
      idle: { on: { 'task.do': { target: 'working', actions: 'keep' } } },
      working: {
        invoke: {
          id: 'work',
          src: 'work',
          input: ({ context }) => ({ worker: context.self }),
          onDone: 'idle',
          onError: [
            {
              guard: 'mayDelegate',
              target: 'idle',
              actions: {
                type: 'tell',
                params: ({ context }) => ({
                  to: address('default', 'worker', context.self.endsWith('a') ? 'b' : 'a'),
                  event: { type: 'task.do', hops: context.hops + 1 },
                }),
              },
            },
            { target: 'stuck' },
          ],
        },
      },
      /** The corrected worker gives up, so that a person sees it. */
      stuck: { on: { 'task.do': { target: 'working', actions: 'keep' } } },
    },
  });
  return defineActor({
    type: 'worker',
    version: 1,
    machine,
    effects: {
      work: {
        class: 'repeatable',
        run: ({ worker }, { services }) => (services as Tool).work(worker),
      },
    },
  });
};

export const mistakenWorker = workerOf(false);
export const worker = workerOf(true);

export const checkWorker = (
  actor: typeof worker,
  given: { seed?: number; runs: number; print?: (text: string) => void },
): Promise<SimulationReport> =>
  simulate<Tool>({
    actors: [actor],
    services: (world) => new Tool(world),
    load: [
      { to: address('default', 'worker', 'a'), event: { type: 'task.do', hops: 0 }, timeoutMs: 1 },
    ],
    turnsMax: 60,
    ...given,
  });
