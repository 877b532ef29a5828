/** Supervision on a running system: real store, real crashes, real delays. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import { rootMachine } from '../../../actors/root/machine.ts';
import { supervisorMachine } from '../../../actors/supervisor/machine.ts';
import { type Address, address } from '../../../protocols/address.ts';
import { hostActions, type Message } from '../../../protocols/statechart.ts';
import { type AlarmRow, ROOT, type SupervisorRow } from '../../../protocols/supervision.ts';
import { createSystem, defineActor, openEmbedded, type System } from '../../../runtime/index.ts';
import { eventually } from '../../runtime/eventually.ts';

/** Counts its messages, and throws on `poke`. */
const counter = setup({
  types: {
    context: {} as { count: number },
    events: {} as { type: 'count' } | { type: 'poke' },
  },
  actions: {
    ...hostActions,
    count: assign({ count: ({ context }) => context.count + 1 }),
    fall: assign(() => {
      throw new Error('it fell');
    }),
  },
}).createMachine({
  id: 'counter',
  context: { count: 0 },
  initial: 'up',
  states: { up: { on: { count: { actions: 'count' }, poke: { actions: 'fall' } } } },
});

const actors = [
  defineActor({ type: 'root', version: 1, machine: rootMachine }),
  defineActor({ type: 'supervisor', version: 1, machine: supervisorMachine }),
  defineActor({ type: 'counter', version: 1, machine: counter }),
  defineActor({ type: 'session', version: 1, machine: counter }),
];
const principal = { sub: 'test', roles: ['operator'] };
const at = (key: string, type = 'counter') => address('default', type, key);
const shop = at('shop', 'supervisor');

let path: string;
let system: System;
beforeEach(async () => {
  path = mkdtempSync(join(tmpdir(), 'troupe-supervision-'));
  await open();
});
afterEach(async () => {
  await system.stop();
  rmSync(path, { recursive: true, force: true });
});
async function open(): Promise<void> {
  system = await createSystem({
    ...(await openEmbedded({ path })),
    actors,
    shards: 2,
    supervisor: ROOT,
  });
}

const tell = async (to: Address, ...events: Message[]) => {
  for (const event of events)
    expect(await system.tell(to, event, { principal })).toMatchObject({ kind: 'accepted' });
};
const count: Message = { type: 'count' };
const poke: Message = { type: 'poke' };
const statusOf = (actor: Address) => system.inspect(actor)?.status;
const countOf = (actor: Address) =>
  (system.inspect(actor)?.context as { count: number } | undefined)?.count;
const counts = async (actor: Address, wanted: number) =>
  eventually(() => expect([statusOf(actor), countOf(actor)]).toEqual(['active', wanted]));

describe('the root', () => {
  it('resumes an actor that threw from its last committed state, with its pending messages', async () => {
    await tell(at('a'), count, count, poke, count);
    await counts(at('a'), 3);
    await eventually(async () =>
      expect(await system.deadLetters.list()).toMatchObject([{ reason: 'CRASHED' }]),
    );
  });

  it('resumes a session from its last state, without the message', async () => {
    const session = at('agent:main:main', 'session');
    await tell(session, count, count, poke, count);
    await counts(session, 3);
    expect(system.inspect(session)).toMatchObject({ status: 'active' });
  });

  it('quarantines an actor that keeps failing, raises an alarm and delivers nothing more', async () => {
    await tell(at('a'), poke, poke, poke, poke);
    await eventually(() => expect(statusOf(at('a'))).toBe('quarantined'));
    const alarm = await eventually(() => {
      const row = system.index.get<AlarmRow>('alarms', 'default', at('a'));
      expect(row).toBeDefined();
      return row!;
    });
    expect(alarm).toMatchObject({ actor: at('a'), failures: 4, poison: false });
    const answer = await system.ask(at('a'), count, { principal, timeoutMs: 10_000 });
    expect(answer).toMatchObject({ kind: 'refused', error: { code: 'UNAVAILABLE' } });
  });

  it('sends the order also when the system was down while the actor waited for it', async () => {
    await tell(at('a'), count, poke);
    await eventually(() => expect(statusOf(at('a'))).toBe('suspended'));
    await system.stop();
    await open();
    await tell(at('a'), count);
    await counts(at('a'), 2);
  });
});

describe('a supervisor', () => {
  const children = ['a', 'b', 'c'].map((key) => ({ child: at(key), start: count }));
  const begin = async (options: Record<string, unknown>) => {
    const event = { type: 'supervisor.start', children, ...options };
    const answer = await system.ask(shop, event, { principal, timeoutMs: 10_000 });
    expect(answer).toMatchObject({ kind: 'answered', result: { children: 3 } });
    for (const { child } of children) await counts(child, 1);
    for (const { child } of children) await tell(child, count, count);
    for (const { child } of children) await counts(child, 3);
  };

  it('restarts the one that failed, one for one', async () => {
    await begin({ strategy: 'one-for-one' });
    await tell(at('b'), poke);
    await counts(at('b'), 1);
    expect([countOf(at('a')), countOf(at('c'))]).toEqual([3, 3]);
  });

  it('restarts all of them, one for all', async () => {
    await begin({ strategy: 'one-for-all' });
    await tell(at('b'), poke);
    for (const { child } of children) await counts(child, 1);
    expect(children.map(({ child }) => statusOf(child))).toEqual(['active', 'active', 'active']);
  });

  it('restarts the one that failed and those after it, rest for one', async () => {
    await begin({ strategy: 'rest-for-one' });
    await tell(at('b'), poke);
    await counts(at('b'), 1);
    await counts(at('c'), 1);
    expect(countOf(at('a'))).toBe(3);
  });

  it('escalates beyond its intensity, and the root restarts it', async () => {
    await begin({ intensity: 0 });
    await tell(at('b'), poke);
    // One for one: only a restart of the supervisor resets the counts of the others, too.
    for (const { child } of children) await counts(child, 1);
    const row = system.index.get<SupervisorRow>('supervisors', 'default', 'shop');
    expect(row).toMatchObject({ status: 'supervising', failures: 0 });
  });
});
