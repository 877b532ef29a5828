/**
 * The client refuses messages that a shard could not process in time, before they are accepted
 * (J2).
 */
import { afterEach, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { mailboxSubject } from '../../../protocols/subjects.ts';
import { createRegistry } from '../../../runtime/actor/registry.ts';
import { MessageClient } from '../../../runtime/message-client.ts';
import { ADMISSION_LIMITS } from '../../../runtime/fairness/admission.ts';
import { MemoryLog } from '../../../runtime/log/memory.ts';
import { decodeRecord } from '../../../runtime/shard/commit/records.ts';
import { ShardOwner } from '../../../runtime/shard/owner.ts';
import { DEFAULT_LIMITS } from '../../../runtime/shard/limits.ts';
import { MemoryState } from '../../../runtime/state/memory.ts';
import { simActors } from '../../sim/actors.ts';
import { Random } from '../../../library/simulation/random.ts';
import { SimBlobs } from '../../sim/sim-blobs.ts';
import { SimBus } from '../../../library/simulation/sim-bus.ts';
import { settled, VirtualClock } from '../../../library/simulation/virtual-clock.ts';

const ENV = 'test';
const CELL = 'cell';
/** Messages in the record that is being committed count as processed. */
const GROUP = DEFAULT_LIMITS.groupTurnsMax;
const ACTOR = address('t', 'plain', 'k');
const registry = createRegistry(simActors);
const principal = { sub: 'c', roles: [] };

const closing: (() => void)[] = [];
afterEach(() => closing.splice(0).forEach((close) => close()));

/** A store whose journal can be paused: appends to it wait until it continues. */
class StoppableLog extends MemoryLog {
  stopped = false;
  #waiting: (() => void)[] = [];

  override async append(...[subject, bytes, options]: Parameters<MemoryLog['append']>) {
    if (this.stopped && subject.startsWith('jrn.'))
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return super.append(subject, bytes, options);
  }

  goOn(): void {
    this.stopped = false;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

async function openShard() {
  const clock = new VirtualClock();
  const state = new MemoryState();
  const log = new StoppableLog(clock, true);
  const nothing = () => {};
  const owner = new ShardOwner({
    world: { cell: CELL, shard: 0, shards: 1, registry, limits: DEFAULT_LIMITS },
    env: ENV,
    worker: 'w',
    log,
    state,
    blobs: new SimBlobs(clock, new Random(1)),
    clock,
    outside: {
      respond: nothing,
      publish: nothing,
      run: nothing,
      reconcile: nothing,
      abort: nothing,
      adopt: () => nothing,
      alarm: nothing,
    },
    format: { writes: 1 },
    onEnd: nothing,
  });
  await owner.start();
  const bus = new SimBus(clock, new Random(1));
  const options = { log, bus, clock, env: ENV, shards: 1, cell: CELL, worker: 'w', registry };
  const client = new MessageClient({
    ...options,
    format: { writes: 1 },
    statusOf: () => owner.status(),
  });
  closing.push(
    () => client.close(),
    () => owner.abandon(),
  );
  return { log, owner, client };
}

it('a mailbox with too many unread messages refuses the next one with a retry delay, and stores nothing', async () => {
  const { log, owner, client } = await openShard();
  log.stopped = true;
  const mail = mailboxSubject(ENV, 0, 'data');
  for (let i = 0; i < ADMISSION_LIMITS.lagMax + GROUP; i++)
    log.appendNow(mail, Buffer.from('unreadable'));
  const before = await log.last(mail);
  client.floors(0, owner.status());
  const refused = await client.tell(ACTOR, { type: 'hard' }, { principal });
  expect(refused).toMatchObject({
    kind: 'refused',
    error: { code: 'RATE_LIMIT_EXCEEDED', retryAfterMs: expect.any(Number) },
  });
  expect(await log.last(mail)).toBe(before);

  log.goOn();
  while (owner.status().mailFloor < before) await settled();
  client.floors(0, owner.status());
  expect(await client.tell(ACTOR, { type: 'hard' }, { principal })).toMatchObject({
    kind: 'accepted',
  });
});

it('a quarantined shard refuses with its reason', async () => {
  const { log, owner, client } = await openShard();
  const { epoch } = owner.status();
  expect(epoch).toBeGreaterThan(0);
  log.appendNow(`jrn.${ENV}.0`, Buffer.from('damage'));
  await client.tell(ACTOR, { type: 'hard' }, { principal });
  while (owner.status().state === 'owned') await settled();
  // Other processes compare its claim with those of other owners.
  expect(owner.status()).toMatchObject({ state: 'quarantined', epoch });
  expect(await client.tell(ACTOR, { type: 'hard' }, { principal })).toMatchObject({
    kind: 'refused',
    error: { code: 'UNAVAILABLE', message: expect.stringContaining('quarantined') },
  });
});

it('an unreadable mailbox entry has one turn, with the name that the crash-loop guard uses for it', async () => {
  const { log, owner } = await openShard();
  log.appendNow(mailboxSubject(ENV, 0, 'data'), Buffer.from('unreadable'));
  while (owner.status().mailFloor < 1) await settled();
  const records = (await log.read(`jrn.${ENV}.0`, 1)).map(({ bytes }) => decodeRecord(bytes));
  const turns = records.flatMap((record) => (record.t === 'TURNS' ? record.turns : []));
  expect(turns.map(({ input, result }) => [input, result])).toEqual([['m1.0', 'dropped']]);
});
