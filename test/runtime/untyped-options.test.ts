/** Values that TypeScript refuses and a program in JavaScript passes: each is refused by name. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { setup } from 'xstate';
import { createSystem, defineActor, openCluster, openEmbedded } from '../../library/index.ts';
import { address, parseAddress } from '../../protocols/address.ts';
import { type Delivered, hostActions } from '../../protocols/statechart.ts';
import { mailboxSubject } from '../../protocols/subjects.ts';
import { encodeMail } from '../../runtime/shard/commit/records.ts';
import type { Principal } from '../../runtime/system.ts';
import { eventually } from './eventually.ts';

const home = mkdtempSync(join(tmpdir(), 'troupe-untyped-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const machine = setup({}).createMachine({ id: 'lamp', on: { 'lamp.turn': {} } });
const actors = [defineActor({ type: 'lamp', version: 1, machine })];
const lamp = address('default', 'lamp', '1');
const event = { type: 'lamp.turn' };
const principal = { sub: 'ada', roles: [] };

test.each([
  [undefined, 'lamp', '1', /tenant "undefined"/],
  ['default', 7, '1', /type "7"/],
  ['default', 'lamp', 4711, /key of an actor address must be a text, not 4711/],
  ['default', 'lamp', undefined, /must be a text, not undefined/],
] as const)('the address of %s, %s, %s is refused', (tenant, type, key, fault) => {
  expect(() => address(tenant as string, type as string, key as string)).toThrow(fault);
});

test('what is no text is no address', () => {
  for (const value of [undefined, null, 7, {}])
    expect(() => parseAddress(value as never)).toThrow(/is not an actor address/);
});

test.each([
  [{ durability: 'Power' }, /durability is "Power", it must be 'process' or 'power'/],
  [{ path: '' }, /path is "", it must be the name of the data folder/],
  [{ durabilty: 'power' }, /durabilty is not an option;.*; did you mean durability\?$/],
])('a store is not opened with %j', async (options, fault) => {
  const given = { path: join(home, 'store'), ...options };
  await expect(openEmbedded(given as never)).rejects.toThrow(fault);
});

// Bug: the folder stayed locked, so the process could not open it again.
test('a system that cannot start closes its store, which can be opened again', async () => {
  const path = join(home, 'cell');
  const twice = [...actors, ...actors];
  for (const shards of [0, 1.5, 65_537])
    await expect(
      createSystem({ ...(await openEmbedded({ path })), actors, shards }),
    ).rejects.toThrow(/1 to 65,536 shards/);
  // None of them has made a cell.
  const options = { actors: twice, shards: 2 };
  await expect(createSystem({ ...(await openEmbedded({ path })), ...options })).rejects.toThrow(
    /registered twice/,
  );
  const system = await createSystem({ ...(await openEmbedded({ path })), actors, shards: 2 });
  expect(system.status()).toHaveLength(2);
  await system.stop();
});

test('options that are missing are named', async () => {
  const none = undefined as never;
  await expect(openEmbedded(none)).rejects.toThrow('openEmbedded needs the options path');
  await expect(createSystem(none)).rejects.toThrow(
    'createSystem needs the options actors, store, bus, blobs',
  );
  await expect(openCluster(none)).rejects.toThrow('openCluster needs the options servers, path');
  const ports = await openEmbedded({ path: join(home, 'part') });
  const { bus: _, ...part } = ports;
  await expect(createSystem({ ...part, actors } as never)).rejects.toThrow(/needs the options bus/);
  await (await openEmbedded({ path: join(home, 'part') })).store.close();
  await expect(openEmbedded('data' as never)).rejects.toThrow(
    'its argument is "data", it must be an object with the options path,',
  );
  // Bug: the error was that of closing what has nothing to close.
  const store = { store: {}, actors } as never;
  await expect(createSystem(store)).rejects.toThrow('createSystem needs the options bus, blobs');
  const wrong = { store: {}, actors, bus: {}, blobs: {} } as never;
  await expect(createSystem(wrong)).rejects.toThrow('createSystem: store has no log');
});

// Bug: a misspelled option meant its default, here a cell of 8 shards that cannot change.
test.each([
  [
    { shard: 2 },
    /createSystem: shard is not an option; options: actors,.*; did you mean shards\?$/,
  ],
  [
    { limits: { keyMax: 2 } },
    /limits\.keyMax is not an option;.*; did you mean limits\.keysMax\?$/,
  ],
  [{ limits: null }, /limits is null, it must be an object with the options groupTurnsMax,/],
  [{ history: { days: 2 } }, /history\.days is not an option; options: bytesMax, types/],
])('a system with %j is refused', async (wrong, fault) => {
  const path = mkdtempSync(join(home, 'misspelled-'));
  const options = { ...(await openEmbedded({ path })), actors, ...wrong };
  await expect(createSystem(options as never)).rejects.toThrow(fault);
  const system = await createSystem({ ...(await openEmbedded({ path })), actors, shards: 3 });
  expect(system.status()).toHaveLength(3);
  await system.stop();
});

test('a cluster is not joined with a misspelled option', async () => {
  const options = { servers: 'nats://127.0.0.1:9', path: home, name: 'a', replica: 3 };
  await expect(openCluster(options)).rejects.toThrow(/did you mean replicas\?/);
});

test('a message without a sender, and an ask without a time, are refused', async () => {
  const ports = await openEmbedded({ path: join(home, 'messages') });
  const system = await createSystem({ ...ports, actors });
  const refused = (message: RegExp) => ({
    kind: 'refused',
    error: { code: 'INVALID_ARGUMENT', message: expect.stringMatching(message) },
  });
  // Bug: a directive from a sender without roles stopped its shard permanently.
  for (const options of [undefined, {}, { principal: 'ada' }, { principal: { sub: 'ada' } }])
    expect(await system.tell(lamp, event, options as never)).toMatchObject(
      refused(/add the option principal/),
    );
  for (const timeoutMs of [undefined, Number.NaN, -1])
    expect(
      await system.ask(lamp, event, { principal, timeoutMs: timeoutMs as number }),
    ).toMatchObject(refused(/timeoutMs is/));
  expect(system.inspect(lamp)).toBeUndefined();
  await expect(system.actors.history(lamp, { limit: 0 })).rejects.toThrow(/limit is 0/);
  await system.stop();
});

// Bug: they were accepted and stored, as what the encoder made of them.
test.each([
  [{ sub: 7, roles: [] }, /add the option principal/],
  [new Map(), /add the option principal/],
  [{ sub: 'ada', roles: [() => true] }, /principal\.roles\[0\] is a function/],
  [{ sub: 'ada', roles: ['user', { is: 'operator' }] }, /roles\[1\] is {"is":"operator"}, each/],
  [{ sub: 'ada', roles: [undefined] }, /roles\[0\] is undefined, each role must be a text/],
  [{ sub: 'ada', roles: [], since: new Date(0) }, /principal\.since is a Date/],
])('a message from the sender %j is refused', async (sender, message) => {
  const path = mkdtempSync(join(home, 'odd-'));
  const system = await createSystem({ ...(await openEmbedded({ path })), actors });
  const refused = {
    kind: 'refused',
    error: { code: 'INVALID_ARGUMENT', message: expect.stringMatching(message) },
  };
  const options = { principal: sender as never, timeoutMs: 1_000 };
  expect(await system.tell(lamp, event, options)).toMatchObject(refused);
  expect(await system.ask(lamp, event, options)).toMatchObject(refused);
  expect(system.inspect(lamp)).toBeUndefined();
  await system.stop();
});

test('an actor sends no message for an odd sender', async () => {
  const relay = setup({ actions: hostActions }).createMachine({
    id: 'relay',
    on: {
      pass: {
        actions: {
          type: 'tell',
          params: { to: lamp, event, principal: { sub: 'ada', roles: [7 as never] } },
        },
      },
    },
  });
  const ports = await openEmbedded({ path: join(home, 'relay') });
  const types = [...actors, defineActor({ type: 'relay', version: 1, machine: relay })];
  const system = await createSystem({ ...ports, actors: types });
  const options = { principal, timeoutMs: 10_000 };
  expect(
    await system.ask(address('default', 'relay', '1'), { type: 'pass' }, options),
  ).toMatchObject({
    kind: 'refused',
    error: { message: expect.stringMatching(/principal\.roles\[0\] is 7, each role/) },
  });
  await system.stop();
});

test('a stored directive from a sender without roles stops no shard', async () => {
  const ports = await openEmbedded({ path: join(home, 'stored') });
  const { log, cell } = ports.store;
  const system = await createSystem({ ...ports, actors, shards: 1 });
  await system.tell(lamp, event, { principal });
  await eventually(() => expect(system.status()[0]).toMatchObject({ mailFloor: 1 }));
  const sender = { sub: 'ada' } as Principal;
  const item = { to: lamp, id: '1', event: { type: 'sys.pause' }, hops: 0, principal: sender };
  const notAfter = Date.now() + 60_000;
  const entry = { kind: 'client', cell, item, payloadHash: '', notAfter, ttlMs: 60_000 } as const;
  await log.append(mailboxSubject('local', 0, 'control'), encodeMail(entry));
  await eventually(() => expect(system.status()[0]).toMatchObject({ state: 'owned', ctlFloor: 1 }));
  await system.stop();
});

// Bug: earlier programs accepted such a sender, and passing it on quarantined the actor.
test('an actor passes on the odd sender of a stored message', async () => {
  const relay = setup({
    types: { events: {} as Delivered<{ type: 'pass' }> },
    actions: hostActions,
  }).createMachine({
    id: 'relay',
    on: {
      pass: {
        actions: {
          type: 'tell',
          params: ({ event: { meta } }) => ({ to: lamp, event, principal: meta.principal! }),
        },
      },
    },
  });
  const ports = await openEmbedded({ path: join(home, 'passed') });
  const { log, cell } = ports.store;
  const types = [...actors, defineActor({ type: 'relay', version: 1, machine: relay })];
  const system = await createSystem({ ...ports, actors: types, shards: 1 });
  const sender = { sub: 'ada', roles: [7] as never };
  const to = address('default', 'relay', '1');
  const item = { to, id: '1', event: { type: 'pass' }, hops: 0, principal: sender };
  const notAfter = Date.now() + 60_000;
  const entry = { kind: 'client', cell, item, payloadHash: '', notAfter, ttlMs: 60_000 } as const;
  await log.append(mailboxSubject('local', 0, 'data'), encodeMail(entry));
  await eventually(() => expect(system.status()[0]).toMatchObject({ mailFloor: 2 }));
  expect(await system.deadLetters.list()).toEqual([]);
  expect(system.inspect(to)).toMatchObject({ status: 'active' });
  await system.stop();
});
