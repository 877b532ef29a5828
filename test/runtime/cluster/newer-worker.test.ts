/**
 * Workers of two versions in one cell: a shard that the older one cannot read goes to the newer
 * one, once. Both run the program under test; the log and the bus of the newer one translate, so
 * that its records and heartbeats are of format 2 to the others and of format 1 to itself.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { journalSubject, mailboxSubject } from '../../../protocols/subjects.ts';
import { HEARTBEAT_SUBJECT, type Heartbeat } from '../../../runtime/cluster/heartbeat.ts';
import type { Bus } from '../../../runtime/bus/bus.ts';
import type { System } from '../../../runtime/index.ts';
import { shardOf } from '../../../protocols/address.ts';
import { eventually } from '../eventually.ts';
import { NewerProgramLog } from '../system/newer-program.ts';
import { ask, ClusterWorld, known, puppet, user } from './world.ts';

let world: ClusterWorld;
beforeEach(() => {
  world = new ClusterWorld();
});
afterEach(() => world.close());

const inFormats = (heartbeat: Heartbeat, by: number): Heartbeat => ({
  ...heartbeat,
  format: (heartbeat.format ?? 0) + by,
  shards: heartbeat.shards.map(({ formatNeeded, ...status }) => ({
    ...status,
    ...(formatNeeded === undefined ? {} : { formatNeeded: formatNeeded + by }),
  })),
});

const newerBus = (bus: Bus): Bus => ({
  get connected() {
    return bus.connected;
  },
  publish: (subject, payload) =>
    bus.publish(
      subject,
      subject === HEARTBEAT_SUBJECT ? inFormats(payload as Heartbeat, 1) : payload,
    ),
  subscribe: (pattern, on) =>
    bus.subscribe(pattern, (message) =>
      on(
        message.subject === HEARTBEAT_SUBJECT
          ? { ...message, payload: inFormats(message.payload as Heartbeat, -1) }
          : message,
      ),
    ),
  request: (subject, payload, options) => bus.request(subject, payload, options),
  close: () => bus.close(),
});

const newer = (writes: (subject: string) => boolean) => ({
  aroundLog: (log: ConstructorParameters<typeof NewerProgramLog>[0]) =>
    new NewerProgramLog(log, { writes, reads: true }),
  aroundBus: newerBus,
});

const target = puppet('p');
const shard = shardOf(target, 8);
const stateOn = (system: System) => system.status()[shard];
const ownerOf = (system: System) =>
  stateOn(system)?.state === 'owned' ? stateOn(system)?.node?.split('-')[0] : undefined;

it('a shard whose mail only a newer worker can read is released by the older worker, and taken over once', async () => {
  const old = await world.worker('old');
  const gateway = await world.gateway('g');
  await eventually(() => expect(ownerOf(gateway)).toBe('old'));
  await ask(gateway, target, { type: 'do', n: 1 });
  const newerGateway = await world.gateway(
    'h',
    newer((to) => to.startsWith('mbx.')),
  );
  await newerGateway.tell(target, { type: 'do', n: 2 }, { principal: user });
  await eventually(() => {
    for (const system of [old, gateway])
      expect(stateOn(system)).toMatchObject({ state: 'quarantined', formatNeeded: 2 });
  });
  const journal = journalSubject('local', shard);
  const before = await world.store.log.last(journal);
  await world.worker(
    'new',
    newer(() => false),
  );
  await eventually(() => expect(ownerOf(old)).toBe('new'));
  await eventually(() => expect(known(gateway, target).seen).toEqual(['do:1', 'do:2']));
  // Once: an EPOCH record of the new owner, and no more take-overs between the two.
  const { epoch } = stateOn(gateway)!;
  expect(epoch).toBeGreaterThan(before);
  for (let n = 3; n < 6; n++)
    expect(await ask(gateway, target, { type: 'do', n })).toMatchObject({ kind: 'answered' });
  expect(stateOn(gateway)).toMatchObject({ state: 'owned', epoch });
  // The older worker copies its rows again, as of any shard of another worker.
  await old.caughtUp(target);
  expect(known(old, target).seen).toHaveLength(5);
  expect(await world.store.log.last(mailboxSubject('local', shard, 'data'))).toBeGreaterThan(0);
  expect(await gateway.deadLetters.list()).toEqual([]);
});
