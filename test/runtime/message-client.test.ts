/**
 * The message client when the log does not report the outcome of an append, or no owner replies:
 * which messages it must send again, and which it must not (F1, F7).
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import { address } from '../../protocols/address.ts';
import { mailboxSubject } from '../../protocols/subjects.ts';
import { defineActor } from '../../runtime/actor/define-actor.ts';
import { createRegistry } from '../../runtime/actor/registry.ts';
import { InProcessBus } from '../../runtime/bus/in-process.ts';
import { MessageClient } from '../../runtime/message-client.ts';
import type { SendOptions, ShardStatus } from '../../runtime/index.ts';
import { AppendUnknown, type Log } from '../../runtime/log/log.ts';
import { createMemoryStore } from '../../runtime/log/memory.ts';
import { decodeMail } from '../../runtime/shard/commit/records.ts';
import { settled, VirtualClock } from '../../library/simulation/virtual-clock.ts';

const machine = setup({}).createMachine({
  id: 'thing',
  initial: 'there',
  states: { there: { description: 'is there' } },
});
const to = address('t', 'thing', 'k');
const principal = { sub: 'ada', roles: [] };
const event = { type: 'do' };

let clock: VirtualClock;
let bus: InProcessBus;
let log: Log;
/** appends whose answer is lost from now on */
let lost: number;
/** epoch of the shard's owner; undefined: no owner */
let epoch: number | undefined;

beforeEach(() => {
  clock = new VirtualClock();
  bus = new InProcessBus({ clock });
  lost = 0;
  epoch = 1;
  ({ log } = createMemoryStore({ clock }));
  const append = log.append.bind(log);
  log.append = async (subject, bytes, options) => {
    const answer = await append(subject, bytes, options);
    if (lost-- > 0) throw new AppendUnknown(subject);
    return answer;
  };
});

/** Runs the pending promises, then advances the time. */
async function pass(ms: number): Promise<void> {
  await settled();
  await clock.run(clock.monotonicMs() + ms);
}

const openClient = (asksAgain: boolean) =>
  new MessageClient({
    log,
    bus,
    clock,
    env: 'e',
    shards: 1,
    cell: 'cell',
    worker: 'w',
    format: { writes: 1 },
    registry: createRegistry([defineActor({ type: 'thing', version: 1, machine })]),
    statusOf: (shard) =>
      epoch === undefined ? undefined : ({ shard, state: 'owned', epoch } as ShardStatus),
    asksAgain,
  });

/** Ids of the copies in the mailbox. */
const copies = async () =>
  (await log.read(mailboxSubject('e', 0, 'data'), 1)).map(({ bytes }) => {
    const entry = decodeMail(bytes);
    return entry.kind === 'client' ? entry.item.id : entry.kind;
  });

const WAYS: [string, Partial<SendOptions>, boolean][] = [
  ['with a key', { key: 'k' }, true],
  ['that is repeatable', { repeatable: true }, true],
  ['without either', {}, false],
];

describe.each(WAYS)('a message %s', (_, how, again) => {
  it(`is ${again ? '' : 'not '}sent again while it is not known to be stored`, async () => {
    lost = 2;
    const sent = openClient(false).tell(to, event, { principal, ...how });
    await pass(10_000);
    if (again) expect(await sent).toMatchObject({ kind: 'accepted' });
    else expect(await sent).toMatchObject({ error: { details: { outcome: 'unknown' } } });
    const ids = await copies();
    expect(ids).toHaveLength(again ? 3 : 1);
    expect(new Set(ids).size).toBe(1);
  });

  it(`is ${again ? '' : 'not '}sent again in a cluster while there is no response`, async () => {
    const asked = openClient(true).ask(to, event, { principal, ...how, timeoutMs: 60_000 });
    await pass(7_000);
    const ids = await copies();
    expect(ids).toHaveLength(again ? 3 : 1);
    // Each copy may be answered: the first answer counts.
    for (const result of ['first', 'second'])
      bus.publish('inbox.w', { id: ids[0], result, at: [0, 1] });
    await settled();
    expect(await asked).toEqual({ kind: 'answered', result: 'first' });
    await pass(60_000);
    expect(await copies()).toEqual(ids);
  });

  it('is sent once where no reply can be lost', async () => {
    void openClient(false).ask(to, event, { principal, ...how, timeoutMs: 60_000 });
    await pass(60_000);
    expect(await copies()).toHaveLength(1);
  });
});

it('a repeatable message is not stored after its answer', async () => {
  await openClient(false).tell(to, event, { principal, repeatable: true });
  const [entry] = await log.read(mailboxSubject('e', 0, 'data'), 1);
  expect(decodeMail(entry!.bytes)).not.toHaveProperty('key');
});

describe('an ask whose reply may be lost with the previous owner of its shard', () => {
  const open = () => {
    const client = openClient(true);
    void client.ask(to, event, { principal, repeatable: true, timeoutMs: 60_000 });
    return client;
  };

  it('is sent again soon after the shard has a new owner, and once per owner', async () => {
    const client = open();
    await pass(50);
    epoch = undefined;
    client.ownersChanged();
    await pass(500);
    expect(await copies()).toHaveLength(1);
    epoch = 2;
    client.ownersChanged();
    client.ownersChanged();
    await pass(200);
    expect(await copies()).toHaveLength(2);
    client.ownersChanged();
    await pass(500);
    expect(await copies()).toHaveLength(2);
  });

  it('is not sent again when the new owner replies in time', async () => {
    const client = open();
    await pass(50);
    epoch = 2;
    client.ownersChanged();
    bus.publish('inbox.w', { id: (await copies())[0], result: 'done', at: [0, 1] });
    await pass(5_000);
    expect(await copies()).toHaveLength(1);
  });

  it('is sent again after this process could not receive replies for a while', async () => {
    const client = open();
    await pass(50);
    client.repliesMayBeLost();
    await pass(200);
    expect(await copies()).toHaveLength(2);
  });

  it('is not sent again when it may be applied twice', async () => {
    const client = openClient(true);
    void client.ask(to, event, { principal, timeoutMs: 60_000 });
    await pass(50);
    epoch = 2;
    client.ownersChanged();
    client.repliesMayBeLost();
    await pass(500);
    expect(await copies()).toHaveLength(1);
  });
});
