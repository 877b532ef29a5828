/** Outcomes of effects in the owner's own process, which have no mailbox entry (G6). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { journalSubject, mailboxSubject } from '../../../protocols/subjects.ts';
import { MemoryBlobs } from '../../../runtime/blobs/memory.ts';
import { InProcessBus } from '../../../runtime/bus/in-process.ts';
import { createSystem, type Store, type System, systemClock } from '../../../runtime/index.ts';
import { openEmbeddedStore } from '../../../runtime/log/embedded-store.ts';
import type { Log } from '../../../runtime/log/log.ts';
import { createMemoryStore } from '../../../runtime/log/memory.ts';
import { decodeMail, decodeRecord, type Turn } from '../../../runtime/shard/commit/records.ts';
import { eventually } from '../eventually.ts';
import { type Hands, type Known, puppetType } from './puppet.ts';

const principal = { sub: 'ada', roles: ['user'] };
const a = address('t', 'puppet', 'a');
const data = mailboxSubject('local', 0, 'data');
let system: System | undefined;
afterEach(() => system?.stop());

async function start(
  services: Hands,
  store: Pick<Store, 'log' | 'state' | 'cell'> = createMemoryStore({ clock: systemClock }),
) {
  const { log, state, cell } = store;
  const started = await createSystem({
    actors: [puppetType()],
    store: { log, state, cell, close: async () => {} },
    bus: new InProcessBus(),
    blobs: new MemoryBlobs(),
    services,
    shards: 1,
    limits: { groupTurnsMax: 8 },
  });
  system = started;
  const known = () => started.inspect(a)?.context as Known | undefined;
  const work = (cls: string) =>
    started.ask(a, { type: 'work', cls }, { principal, timeoutMs: 10_000 });
  const mail = async () => (await log.read(data, 1)).map(({ bytes }) => decodeMail(bytes));
  const turns = async (): Promise<Turn[]> =>
    (await log.read(journalSubject('local', 0), 1)).flatMap(({ bytes }) => {
      const record = decodeRecord(bytes);
      return record.t === 'TURNS' ? [...record.turns] : [];
    });
  return { system: started, known, work, mail, turns };
}

/** The log, with some of its methods replaced. */
const changed = (log: Log, methods: Partial<Log>): Log =>
  new Proxy(log, {
    get: (of, name) => {
      const found: unknown = Reflect.get(Object.hasOwn(methods, name) ? methods : of, name);
      return typeof found === 'function' ? (found.bind(of) as unknown) : found;
    },
  });

it('the record of its turn contains the outcome, and the mailbox does not', async () => {
  const { known, work, mail, turns } = await start({ run: async () => 'result' });
  await work('keyed');
  await eventually(() => expect(known()?.received).toMatchObject([{ output: 'result' }]));
  expect((await mail()).map(({ kind }) => kind)).toEqual(['client']);
  const [turn] = (await turns()).filter(({ outcome }) => outcome !== undefined);
  expect(turn).toMatchObject({
    input: expect.stringMatching(/^o0\.1\.t\/puppet\/a\|/),
    outcome: { kind: 'done', output: 'result' },
    result: 'applied',
  });
});

it('the outcome of a once effect, and a large one, are stored before their turns', async () => {
  const { known, work, mail } = await start({
    run: async (_, { id }) => (id.includes('.1.') ? 'small' : 'x'.repeat(100_000)),
  });
  await work('once');
  await eventually(() => expect(known()?.received).toHaveLength(1));
  expect((await mail()).map(({ kind }) => kind)).toEqual(['client', 'outcome']);
  await work('keyed');
  await eventually(() => expect(known()?.received).toHaveLength(2));
  expect((await mail()).map(({ kind }) => kind)).toEqual([
    'client',
    'outcome',
    'client',
    'outcome',
  ]);
});

// An outcome that overtakes the mailbox would end a run before its last message was applied.
it('an outcome has its turn after the messages that its effect sent before it ended', async () => {
  const run = async () => {
    const numbers = Array.from({ length: 100 }, (_, n) => n);
    await Promise.all(numbers.map((n) => system!.tell(a, { type: 'do', n }, { principal })));
    return 'last';
  };
  // Each record takes a turn of the event loop there, so most messages still wait.
  const path = mkdtempSync(join(tmpdir(), 'own-outcomes-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const store = await openEmbeddedStore({ path, durability: 'process' });
  onTestFinished(() => store.close());
  const { known, work, turns } = await start({ run }, store);
  await work('repeatable');
  await eventually(() => expect(known()?.received).toMatchObject([{ output: 'last' }]));
  const inputs = (await turns()).map(({ input }) => input[0]);
  expect(inputs.indexOf('o')).toBe(101);
});

// A stop keeps what waits behind a backlog: the effect is not run again, which may cost money.
it('an outcome behind a backlog of messages has a mailbox entry', async () => {
  const { log, ...rest } = createMemoryStore({ clock: systemClock });
  let held: Promise<void> | undefined;
  const append: typeof log.append = async (subject, ...entry) => {
    if (subject === journalSubject('local', 0)) await held;
    return log.append(subject, ...entry);
  };
  const { known, work, mail } = await start({ run }, { log: changed(log, { append }), ...rest });
  async function run() {
    let release = () => {};
    held = new Promise((resolve) => (release = resolve));
    const numbers = Array.from({ length: 300 }, (_, n) => n);
    await Promise.all(numbers.map((n) => system!.tell(a, { type: 'do', n }, { principal })));
    setTimeout(release, 50);
    return 'last';
  }
  await work('repeatable');
  await eventually(() => expect(known()?.received).toMatchObject([{ output: 'last' }]));
  expect((await mail()).map(({ kind }) => kind)).toContain('outcome');
});

it('an effect that changes its result later does not change the state of its actor', async () => {
  const result = { list: ['returned'] };
  const { system: running, known, work } = await start({ run: async () => result });
  await work('keyed');
  const received = [{ output: { list: ['returned'] } }];
  await eventually(() => expect(known()?.received).toMatchObject(received));
  result.list.push('later');
  await running.ask(a, { type: 'do' }, { principal, timeoutMs: 10_000 });
  expect(known()?.received).toMatchObject(received);
});

it('an outcome is not forgotten when the log answers late how far the mailbox goes', async () => {
  const { log, ...rest } = createMemoryStore({ clock: systemClock });
  const last: typeof log.last = async (subject) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return log.last(subject);
  };
  const slow = { log: changed(log, { last }), ...rest };
  const { known, work } = await start({ run: async () => 'result' }, slow);
  await work('keyed');
  await eventually(() => expect(known()?.received).toHaveLength(1), 5_000);
});
