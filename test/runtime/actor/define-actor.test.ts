import { describe, expect, it } from 'vitest';
import { createMachine, setup } from 'xstate';
import { TroupeError } from '../../../protocols/errors.ts';
import { effect } from '../../../protocols/statechart.ts';
import {
  type ActorDefinition,
  defineActor,
  type EffectDefinition,
  missedPolicy,
} from '../../../runtime/actor/define-actor.ts';
import { createRegistry } from '../../../runtime/actor/registry.ts';
import { MAX_ITERATIONS } from '../../../runtime/statechart/lint.ts';
import { order } from '../statechart/machines.ts';

const plain = () => createMachine({ id: 'plain', initial: 'a', states: { a: {} } });

class Packer implements EffectDefinition<{ receipt: string | null }, null> {
  readonly class = 'repeatable';
  packed = 0;
  async run(): Promise<null> {
    this.packed++;
    return null;
  }
}

const shop = (packer = new Packer()) =>
  defineActor({
    type: 'order',
    version: 2,
    machine: order,
    effects: {
      charge: {
        class: 'once',
        async run({ total, attempt }, { id }) {
          return { receipt: `${id}:${total}:${attempt}` };
        },
        async reconcile({ total }) {
          return total > 100 ? 'ask' : { outcome: { receipt: 'found' } };
        },
        timeoutMs: 5000,
      },
      pack: packer,
    },
    mailbox: { whenFull: 'coalesce' },
    migrate: { 1: (row) => row },
    missedTimers: { patience: 'skip' },
  });

/** The error of `defineActor` for options that TypeScript would refuse. */
const complaint = (options: unknown): string => {
  try {
    defineActor(options as Parameters<typeof defineActor>[0]);
  } catch (error) {
    expect(error).toBeInstanceOf(TroupeError);
    expect((error as TroupeError).code).toBe('INVALID_ARGUMENT');
    return (error as TroupeError).message;
  }
  return 'it was accepted';
};

describe('defineActor', () => {
  it('sets the default of every option', () => {
    expect(defineActor({ type: 'plain', version: 1, machine: plain() })).toMatchObject({
      name: 'plain@1',
      effects: {},
      mailbox: { capacity: 1000, whenFull: 'reject' },
      supervision: { onThrow: 'supervisor' },
      migrate: {},
      idleMs: 60_000,
      whenDone: 'keep',
      missedTimers: {},
    });
  });

  it('keeps given options and sets the defaults of the rest', () => {
    const { name, mailbox, effects, hash } = shop();
    expect(name).toBe('order@2');
    expect(mailbox).toEqual({ capacity: 1000, whenFull: 'coalesce' });
    expect([effects['charge']?.timeoutMs, effects['pack']?.timeoutMs]).toEqual([5000, 600_000]);
    expect(hash).toMatch(/^[0-9a-f]{16}$/);
  });

  it('runs an effect that is an object of a class with that object as `this`', async () => {
    const packer = new Packer();
    await shop(packer).effects['pack']?.run(null, {} as never);
    expect(packer.packed).toBe(1);
  });

  it('bounds the loops of the machine', () => {
    const machine = plain();
    defineActor({ type: 'plain', version: 1, machine });
    expect(machine.options.maxIterations).toBe(MAX_ITERATIONS);
  });

  it('lists the faults of the machine and of the options together, with state and path', () => {
    const machine = setup({ actors: { work: effect<null, null>() } }).createMachine({
      id: 'm',
      initial: 'a',
      states: { a: { invoke: { id: 'w', src: 'work', input: null } }, b: {} },
    });
    const text = complaint({ type: 'Bad', version: 0, machine, mailbox: { capacity: 0 } });
    expect(text).toBe(
      [
        'the actor type Bad@0 is refused:',
        '  - type is "Bad", it must be 1 to 63 of a-z, 0-9, _ and -, beginning with a letter or digit',
        '  - version is 0, it must be a whole number from 1',
        '  - mailbox.capacity is 0, it must be a whole number from 1 to 100,000',
        "  - m.a: invoke 'w': the effect 'work' has no definition, add it to effects",
      ].join('\n'),
    );
  });

  const run = async () => null;
  it.each<[object, RegExp]>([
    [{ version: 1.5 }, /version is 1\.5/],
    [{ machine: {} }, /machine is "object", it must be a machine of xstate 5/],
    [{ mailbox: { capacity: 100_001 } }, /mailbox\.capacity is 100001/],
    [
      { mailbox: { whenFull: 'explode' } },
      /mailbox\.whenFull is "explode", it must be one of 'reject', 'defer', 'coalesce', 'dropOldest'/,
    ],
    [{ supervision: { onThrow: 'retry' } }, /supervision\.onThrow is "retry"/],
    [{ supervision: { onthrow: 'resume' } }, /supervision\.onthrow is not an option/],
    [{ mailbox: { size: 5 } }, /mailbox\.size is not an option; options: capacity, whenFull/],
    [{ history: { keeps: 'full' } }, /history\.keeps is not an option/],
    [{ idleMs: -1 }, /idleMs is -1, it must be a whole number from 0 to 86,400,000/],
    [{ whenDone: 'burn' }, /whenDone is "burn"/],
    [{ migrate: { 1: run } }, /migrate is "1", it must be an older version than 1/],
    [{ version: 2, migrate: { 1: 'x' } }, /migrate\.1 is "x"/],
    [
      { missedTimers: { typo: 'late' } },
      /missedTimers is "typo", it must be a delay of the machine: it has none/,
    ],
    [{ effects: { x: { run } } }, /effects\.x\.class is undefined/],
    [{ effects: { x: { class: 'twice', run } } }, /effects\.x\.class is "twice"/],
    [{ effects: { x: { class: 'keyed' } } }, /effects\.x\.run is undefined/],
    [{ effects: { x: { class: 'keyed', run, timeoutMs: 0 } } }, /effects\.x\.timeoutMs is 0/],
    [
      { effects: { x: { class: 'keyed', run, takesSlot: 'no' } } },
      /effects\.x\.takesSlot is "no", it must be true or false/,
    ],
    [
      { effects: { x: { class: 'keyed', run, reconcile: run } } },
      /effects\.x\.reconcile: only an effect of class 'once'/,
    ],
    [{ effects: { x: null } }, /effects\.x is null/],
    [{ effects: { x: { class: 'keyed', run } } }, /effects\.x is not invoked by any state/],
    [{ color: 'red' }, /color is not an option/],
  ])('refuses %j', (options, problem) => {
    expect(complaint({ type: 'plain', version: 1, machine: plain(), ...options })).toMatch(problem);
  });

  it('checks the types of effects against those of the machine', () => {
    // @ts-expect-error: the effects that the machine declares are missing
    expect(() => defineActor({ type: 'order', version: 1, machine: order })).toThrow(
      /'charge' has no definition/,
    );
    const wrongOutput = {
      charge: { class: 'once', run: async () => ({ receipt: 7 }) },
      pack: { class: 'keyed', run: async () => null },
    } as const;
    // @ts-expect-error: a receipt is a string
    defineActor({ type: 'order', version: 1, machine: order, effects: wrongOutput });
  });

  it('finds the policy of a missed timer by the name of its delay', () => {
    const definition = shop();
    expect(missedPolicy(definition, 'xstate.after.patience.order.charging')).toBe('skip');
    expect(missedPolicy(definition, 'xstate.after.backoff.order.backingOff')).toBe('late');
    expect(missedPolicy(definition, 'raise.3.1')).toBe('late');
  });
});

describe('the registry', () => {
  const version = (type: string, number: number): ActorDefinition =>
    defineActor({ type, version: number, machine: plain() });

  it('registers two versions of a type and uses the highest for new actors', () => {
    const [b10, b9, a1] = [version('b', 10), version('b', 9), version('a', 1)];
    const registry = createRegistry([b10, b9, a1]);
    expect(registry.latest('b')).toBe(b10);
    expect(registry.exact('b@9')).toBe(b9);
    expect([registry.latest('c'), registry.exact('b@1')]).toEqual([undefined, undefined]);
    expect(registry.all().map(({ name }) => name)).toEqual(['a@1', 'b@9', 'b@10']);
  });

  it('refuses the same version twice', () => {
    expect(() => createRegistry([version('a', 1), version('a', 1)])).toThrow(
      /a@1 is registered twice/,
    );
  });
});
