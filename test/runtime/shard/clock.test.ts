/** A shard of a cluster, whose log and owner run on machines with clocks of their own. */
import { beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { ShiftedClock } from '../system/shifted-clock.ts';
import { type ClusterShard, openClusterShard } from './cluster-shard.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let server: ShiftedClock;
let worker: ShiftedClock;
let shard: ClusterShard;

const timersFired = async (): Promise<number> =>
  (await shard.journal())
    .flatMap((record) => (record.t === 'TURNS' ? record.turns : []))
    .filter(({ input }) => input.startsWith('t')).length;
/** Both machines live through this time. */
const pass = (ms: number): void => {
  server.shift(ms);
  worker.shift(ms);
};
/** Resolves when the owner has measured the log's clock again, which needs a record. */
const measured = async (jump: () => void): Promise<void> => {
  const before = (await shard.journal()).length;
  jump();
  await eventually(async () => expect((await shard.journal()).length).toBeGreaterThan(before));
};

beforeEach(async () => {
  server = new ShiftedClock();
  worker = new ShiftedClock();
  worker.jump(-HOUR);
  shard = await openClusterShard({}, server);
  await shard.take('w', { clock: worker, idleProbeMs: 20 });
});

describe("a timer, on a worker whose clock is an hour behind the log's", () => {
  it('fires soon after both machines were suspended past its time', async () => {
    await shard.ask('a', { type: 'arm', ms: HOUR });
    await measured(() => {
      server.jump(8 * HOUR);
      worker.jump(8 * HOUR);
    });
    pass(15_000);
    await eventually(async () => expect(await timersFired()).toBe(1));
  });

  it("does not fire because the worker's clock alone jumped", async () => {
    await shard.ask('a', { type: 'arm', ms: HOUR });
    await measured(() => worker.jump(8 * HOUR));
    pass(59 * MINUTE);
    await shard.ask('b');
    expect(await timersFired()).toBe(0);
    pass(2 * MINUTE);
    await eventually(async () => expect(await timersFired()).toBe(1));
  });

  it("fires when it is due although the worker's clock was set back", async () => {
    await shard.ask('a', { type: 'arm', ms: HOUR });
    await measured(() => worker.jump(-8 * HOUR));
    pass(HOUR);
    await eventually(async () => expect(await timersFired()).toBe(1));
  });

  it("fires when it is due although the log's clock was set back", async () => {
    await shard.ask('a', { type: 'arm', ms: HOUR });
    await measured(() => {
      server.jump(-8 * HOUR);
      worker.jump(-8 * HOUR);
    });
    pass(HOUR + 1_000);
    await eventually(async () => expect(await timersFired()).toBe(1));
  });

  it("fires under a next owner when it is due although the log's clock was set back", async () => {
    await shard.ask('a', { type: 'arm', ms: HOUR });
    await shard.leave();
    server.jump(-8 * HOUR);
    await shard.take('next', { clock: worker, idleProbeMs: 20 });
    pass(HOUR + 1_000);
    await eventually(async () => expect(await timersFired()).toBe(1));
  });
});

it("a message is not EXPIRED because the log's clock was set back", async () => {
  await shard.ask('a');
  await measured(() => {
    server.jump(-8 * HOUR);
    worker.jump(-8 * HOUR);
  });
  expect(await shard.ask('a')).toBe(2);
});
