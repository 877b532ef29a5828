/** simulate: finds mistakes from seeds, repeats a run exactly, and shows the shortest history. */
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { address, defineActor, effect } from 'troupe';
import { defineTool } from 'troupe/agents';
import {
  expectCovered,
  exploreChart,
  type Invariant,
  replayRecordings,
  say,
  simulate,
  type SimulationReplay,
} from 'troupe/test';
import { expect, test, vi } from 'vitest';
import { setup } from 'xstate';
import { Bank, bill, checkBill, mistakenBill } from '../../examples/testing/double-charge.ts';
import { checkWorker, mistakenWorker, worker } from '../../examples/testing/endless-delegation.ts';
import { checkExpense, expense, mistakenExpense } from '../../examples/testing/lost-approval.ts';
import { shrink } from '../../library/simulation/shrink.ts';

const silent = { print: () => {} };
// Many runs, on machines that are busy with other tests.
vi.setConfig({ testTimeout: 300_000 });

test.each([
  ['a double charge', checkBill, mistakenBill, 'each bill is charged once'],
  ['a lost approval', checkExpense, mistakenExpense, 'what was approved is approved'],
  ['endless delegation', checkWorker, mistakenWorker, 'comes to rest'],
] as const)('%s is found and shrunk', async (_, check, mistaken, rule) => {
  const printed: string[] = [];
  const report = await check(mistaken, { runs: 300, print: (text) => printed.push(text) });
  const { failure } = report;
  expect(failure).toMatchObject({ rule });
  expect(printed).toEqual([failure!.text]);
  expect(failure!.text).toContain(`seed ${failure!.seed}`);
  expect(failure!.sequence).toMatch(/^sequenceDiagram\n {2}participant client/);
  expect(() => report.throwIfFailed()).toThrow(rule);
  // The seed alone repeats it.
  const again = await check(mistaken, { seed: failure!.seed, runs: 1, ...silent });
  expect(again.failure?.text).toBe(failure!.text);
  // A random seed may leave three or four faults that hold each other.
  const known = await check(mistaken, { seed: 1_000, runs: 300, ...silent });
  expect(known.failure!.faults.length).toBeLessThanOrEqual(2);
});

test.each([
  ['the bill', checkBill, bill],
  ['the expense', checkExpense, expense],
  ['the worker', checkWorker, worker],
] as const)('%s, corrected, keeps its rules', async (_, check, corrected) => {
  const report = await check(corrected, { seed: 1, runs: 40, ...silent });
  report.throwIfFailed();
  expect(report.runs).toBe(40);
  expect(report.faults.kill).toBeGreaterThan(0);
});

test('the same seed has the same history, and another seed another one', async () => {
  const digest = async (seed: number) => (await checkBill(bill, { seed, runs: 3 })).digest;
  const first = await digest(7);
  for (let n = 0; n < 10; n++) expect(await digest(7)).toBe(first);
  expect(await digest(8)).not.toBe(first);
});

test('the replay file has the recorded turns, and another chart differs from them', async () => {
  const { failure } = await checkBill(mistakenBill, { seed: 1, runs: 300, ...silent });
  const folder = mkdtempSync(join(tmpdir(), 'simulation-'));
  const paths = failure!.save(folder);
  expect(paths.map((path) => path.split('.').at(-1))).toEqual(['txt', 'mmd', 'json']);
  const file = JSON.parse(readFileSync(paths[2]!, 'utf8')) as SimulationReplay;
  expect(file).toMatchObject({ format: 'troupe-simulation', version: 1, rule: failure!.rule });
  const same = replayRecordings(file.recordings, [mistakenBill]);
  expect(same.ok).toBe(true);
  const types = new Set(file.recordings.map(({ actor }) => actor.split('/')[1]));
  expect([...types]).toEqual(['bill']);
});

// Bug: a raw TypeError said that a property of undefined was read.
test.each([
  [{ recordings: [] }, /recordings is not a list: pass what System.actors.recording returns/],
  [[{}], /recording 1 is not an object with the texts cell and bytes/],
  [[undefined], /recording 1 is not an object/],
  [[{ cell: 'c', bytes: '' }], /recording 1 is not an object with the numbers shard and shards/],
  [[{ cell: 'c', shard: 0, shards: 8, bytes: 'cut' }], /bytes of recording 1 is not base64 of/],
])('%j is no list of recordings', (recordings, fault) => {
  expect(() => replayRecordings(recordings as never, [bill])).toThrow(fault);
});

test('an outcome that is dropped, because its actor left the state, is in the history', async () => {
  // The bank answers in the moment in which the order is cancelled, and its turn is behind that.
  class SlowBank {
    answer = (_: string): void => {};
    readonly answered = new Promise<string>((resolve) => (this.answer = resolve));
  }
  const machine = setup({
    types: { events: {} as { type: 'order.pay' | 'order.cancel' } },
    actors: { charge: effect<string, object>() },
  }).createMachine({
    initial: 'open',
    states: {
      open: { on: { 'order.pay': 'charging' } },
      charging: {
        invoke: { id: 'charge', src: 'charge', input: {}, onDone: 'paid' },
        on: { 'order.cancel': 'cancelled' },
      },
      paid: {},
      cancelled: {},
    },
  });
  const run = (_: object, { services }: { services: unknown }) => (services as SlowBank).answered;
  const order = defineActor({
    type: 'order',
    version: 1,
    machine,
    effects: { charge: { class: 'keyed', run } },
  });
  const [to, other] = [address('default', 'order', '1'), address('default', 'order', '2')];
  const answerLater: Invariant<SlowBank> = ({ actor, services, sleep }) => {
    if (actor(to)?.value === 'charging') void sleep(1_000).then(() => services.answer('receipt'));
    return true;
  };
  const { failure } = await simulate({
    actors: [order],
    services: () => new SlowBank(),
    load: [
      { to: other, event: { type: 'order.cancel' }, at: 1_000 },
      { to, event: { type: 'order.pay' } },
      { to, event: { type: 'order.cancel' }, at: 1_000 },
    ],
    invariants: { 'the bank answers': answerLater },
    atRest: { 'it is not cancelled': ({ actor }) => actor(to)?.value !== 'cancelled' },
    faults: { kill: 0, fail: 0, lose: 0, slow: 0, delay: 0, repeat: 0, hold: 0, clock: 0 },
    seed: 1,
    runs: 1,
    ...silent,
  });
  expect(failure?.history.join('\n')).toContain('mail is dropped: stale outcome');
});

test('coverage names the transitions that no run took', async () => {
  const run = (faults: boolean) =>
    simulate({
      actors: [bill],
      services: () => new Bank(),
      load: [{ to: address('default', 'bill', '1'), event: { type: 'bill.pay' }, key: 'pay' }],
      coverage: true,
      seed: 1,
      runs: 40,
      faults,
    });
  const calm = await run(false);
  expect(calm.coverage![0]!.unreached).toEqual([
    'transition bill.charging on xstate.error.actor.charge to bill.waiting',
    'state bill.waiting',
    'transition bill.waiting on xstate.after.pause.bill.waiting to bill.charging',
  ]);
  expect(() => expectCovered(calm.coverage!)).toThrow('bill@1: state bill.waiting');
  expect(() => expectCovered(calm.coverage!, ['state bill.open'])).toThrow('although excepted');
  expectCovered((await run(true)).coverage!);
});

test('every situation of a chart is reached, with a shortest path', () => {
  const error = { code: 'UNAVAILABLE', message: 'no answer' } as const;
  const options = {
    actor: bill,
    events: [{ type: 'bill.pay' }],
    ends: { charge: [{ output: 'receipt' }, { error }] },
  };
  const { paths, coverage } = exploreChart(options);
  expect(paths.map(({ value, steps }) => `${String(value)}: ${steps.join(', ')}`)).toEqual([
    'open: ',
    'charging: bill.pay',
    'paid: bill.pay, charge done 1',
    'waiting: bill.pay, charge failed 2',
  ]);
  expectCovered([coverage]);
  const invariants = { 'it never waits': ({ value }: { value: unknown }) => value !== 'waiting' };
  expect(() => exploreChart({ ...options, invariants })).toThrow(
    "'it never waits' is broken after bill.pay, charge failed 2",
  );
});

/** A tool that pays, and notes the keys under which it did. */
const payInto = (paid: Set<string>) =>
  defineTool({
    name: 'pay',
    description: 'Pays a bill.',
    parameters: Type.Object({ bill: Type.String() }),
    class: 'keyed',
    parallel: true,
    question: () => ({ command: 'pay', detail: 'money', scope: 'each-call' }),
    run: async (_, { idempotencyKey }) => {
      paid.add(idempotencyKey);
      return { text: 'it is paid' };
    },
  });

test.each([
  ['allow-once', 1, false],
  ['deny', 0, false],
  [undefined, 0, false],
  ['allow-once', 1, true],
] as const)(
  'an agent asks before it pays; a person says %s: %i payments',
  async (decision, payments, faults) => {
    const report = await simulate<Set<string>>({
      services: () => new Set(),
      agents: {
        tools: ({ services }) => [payInto(services as Set<string>)],
        model: ({ called, last }) =>
          called.length === 0
            ? { calls: [{ name: 'pay', args: { bill: '17' } }], afterMs: 2_000 }
            : { text: `done: ${last}` },
        approve: () => (decision === undefined ? undefined : { decision, afterMs: 90_000 }),
      },
      load: [say('main', 'Pay bill 17')],
      invariants: { 'it pays once at most': ({ services }) => services.size <= payments },
      atRest: {
        'the session is idle': ({ actors }) =>
          actors('session').every((one) => one.value === 'idle'),
        ...(faults
          ? {}
          : { 'it is paid as decided': ({ services }) => services.size === payments }),
      },
      seed: 1,
      runs: faults ? 10 : 1,
      faults,
    });
    report.throwIfFailed();
    expect(report.effects).toBeGreaterThanOrEqual(report.runs);
  },
);

const wanted = address('default', 'request', 'wanted');
const other = address('default', 'request', 'other');
// The answer is handled only when the effect has ended: it is lost when that takes long.
const request = defineActor({
  type: 'request',
  version: 1,
  machine: setup({ actors: { ask: effect<null, undefined>() } }).createMachine({
    id: 'request',
    initial: 'new',
    states: {
      new: { on: { 'request.open': 'asking' } },
      asking: { invoke: { id: 'ask', src: 'ask', onDone: 'waiting', onError: 'waiting' } },
      waiting: { on: { 'request.approve': 'approved' } },
      approved: {},
    },
  }),
  effects: { ask: { class: 'repeatable', run: async () => null } },
});
const open = (to: typeof wanted) => ({ at: 0, to, event: { type: 'request.open' }, key: to });
const approve = (at: number) => ({
  at,
  to: wanted,
  event: { type: 'request.approve' },
  key: 'yes',
});
const isApproved: Invariant = ({ actor }) => actor(wanted)?.value === 'approved';

test('shrinking keeps the messages that the rule expects something of', async () => {
  const load = [open(wanted), open(other), approve(20_000)];
  const options = { actors: [request], load, atRest: { isApproved }, ...silent };
  // The fault makes the effect slow: without both messages the rule says nothing about it.
  const { failure } = await simulate({ ...options, runs: 300, seed: 1 });
  expect(failure!.messages.map(({ event }) => event.type)).toEqual([
    'request.open',
    'request.approve',
  ]);
  expect(failure!.faults).toHaveLength(1);
  // Without any fault the answer comes first: all messages stay.
  const early = [approve(0), open(wanted), open(other)];
  const { failure: always } = await simulate({ ...options, load: early, runs: 300, seed: 1 });
  expect(always!.messages).toHaveLength(3);
  expect(always!.faults).toEqual([]);
});

test('shrinking leaves what is needed', async () => {
  const needed = [3, 17];
  const { items } = await shrink(
    Array.from({ length: 40 }, (_, n) => n),
    async (some) => needed.every((n) => some.includes(n)),
    500,
  );
  expect(items).toEqual(needed);
});

test('options that are not valid are refused', async () => {
  const load = [{ to: address('default', 'bill', '1'), event: { type: 'bill.pay' } }];
  await expect(simulate({ actors: [bill], load, seed: 0.5 })).rejects.toThrow(TypeError);
  await expect(simulate({ actors: [bill], load, runs: 0 })).rejects.toThrow('from 1 to 1,000,000');
  await expect(simulate({ actors: [bill], load, shards: 65 })).rejects.toThrow('shards');
  await expect(simulate({ actors: [bill], load, turnsMax: Number.NaN })).rejects.toThrow(
    'turnsMax',
  );
  await expect(simulate({ actors: [bill], load, faults: { kill: 4 } })).rejects.toThrow(
    'faults.kill is not a probability from 0 to 1: 4',
  );
  const unknown = { crash: 0.1 } as object;
  await expect(simulate({ actors: [bill], load, faults: unknown })).rejects.toThrow('faults.crash');
  // Bug: the rule was never checked, so the test passed.
  const misspelled = { actors: [bill], load, invariant: { 'never holds': () => false } };
  await expect(simulate(misspelled)).rejects.toThrow('did you mean invariants?');
  const controlled = { actors: [bill], laod: load } as { actors: (typeof bill)[] };
  await expect(simulate(controlled)).rejects.toThrow('did you mean load?');
});

test.each([
  [{ to: address('default', 'bil', '1') }, /no actor has the type 'bil': bill/],
  [{ event: {} }, /message 1 of load: an event's type is a text/],
  [{ to: undefined }, /undefined is not an actor address/],
  [{ at: Number.NaN }, /its time is NaN/],
  [{ at: -1 }, /its time is -1/],
  [{ principal: { sub: 'ada', roles: [7] } }, /principal.roles\[0\] is 7/],
])('a load with %j is refused, and no rule holds by mistake', async (wrong, fault) => {
  const message = { to: address('default', 'bill', '1'), event: { type: 'bill.pay' }, ...wrong };
  const load = [message as never];
  await expect(simulate({ actors: [bill], load })).rejects.toThrow(fault);
});

test('an actor type that is given twice is refused', async () => {
  await expect(simulate({ actors: [bill, bill], load: [] })).rejects.toThrow(/registered twice/);
});

test.each(['invariants', 'atRest'])('a rule of %s that is async is broken', async (kind) => {
  const load = [{ to: address('default', 'bill', '1'), event: { type: 'bill.pay' } }];
  const rules = { [kind]: { late: async () => true } } as object;
  const { failure } = await simulate({ actors: [bill], load, runs: 1, print: () => {}, ...rules });
  expect(failure).toMatchObject({ rule: 'late', why: /write a rule that is not async/ });
});

test('a message that a service sends to no actor breaks a rule', async () => {
  const load = [{ to: address('default', 'bill', '1'), event: { type: 'bill.pay' } }];
  const { failure } = await simulate({
    actors: [bill],
    load,
    print: () => {},
    services: (world) => {
      void world.sleep(1).then(() => {
        world.send({ to: address('default', 'bil', '1'), event: { type: 'bill.pay' } });
      });
      return { charge: async () => {} };
    },
  });
  expect(failure).toMatchObject({ rule: 'a client sends', why: /type 'bil'/ });
});

// Bug: the types of the actors were not known yet.
test('services may send a message while they are made', async () => {
  const run = (type: string) =>
    simulate({
      actors: [bill],
      load: [],
      runs: 1,
      // A client that sends it again has two answers.
      faults: false,
      print: () => {},
      services: (world) => {
        world.send({ to: address('default', type, '1'), event: { type: 'bill.pay' }, at: 5 });
        return { charge: async () => {} };
      },
      atRest: { 'it is sent': ({ answers }) => answers.length === 1 },
    });
  expect((await run('bill')).failure).toBeUndefined();
  await expect(run('bil')).rejects.toThrow('a message of services or tools: no actor has the type');
});

test('a failure that does not happen again says so, with the first history', async () => {
  const load = [{ to: address('default', 'bill', '1'), event: { type: 'bill.pay', amount: 1 } }];
  let rests = 0;
  const { failure } = await simulate({
    actors: [bill],
    load,
    atRest: { 'is the first one': () => ++rests !== 1 },
    faults: false,
    seed: 1,
    ...silent,
  });
  expect(failure).toMatchObject({ rule: 'is the first one', messages: [load[0]] });
  expect(failure!.text).toContain('did not break the rule again');
  expect(failure!.history.length).toBeGreaterThan(2);
});
