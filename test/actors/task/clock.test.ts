/** Tasks while a clock is changed or the machine is suspended: real system, real store. */
import { describe, expect, it } from 'vitest';
import { ShiftedClock } from '../../runtime/system/shifted-clock.ts';
import { type Desk, openDesk } from './task-service.ts';

const HOUR = 3_600_000;

let keys = 0;
/** A task that is sent now, by its sender's clock. */
const jobAt = (desk: Desk, clock: ShiftedClock, ttl_sec = 60) =>
  desk.job({
    timestamp: new Date(clock.wallMs()).toISOString(),
    idempotency_key: `clock ${++keys}`,
    seq: keys,
    ttl_sec,
  });

describe('a task', () => {
  it.each([
    ['forward', 8 * HOUR],
    ['back', -24 * HOUR],
  ])('is done although the clock was set %s right before it', async (_, ms) => {
    const clock = new ShiftedClock();
    const desk = await openDesk(undefined, clock);
    const before = jobAt(desk, clock);
    await before.view();
    (await desk.work.began(1)).done();
    await before.is({ state: 'SUCCEEDED' });
    clock.jump(ms);
    const after = jobAt(desk, clock);
    expect(await after.view()).toMatchObject({ state: 'RUNNING' });
    (await desk.work.began(2)).done();
    expect(await after.is({ state: 'SUCCEEDED' })).toMatchObject({ attempt: 1 });
  });

  it('that runs while the machine is suspended keeps the time that it had', async () => {
    const clock = new ShiftedClock();
    const desk = await openDesk(() => ({ etaSec: 60 }), clock);
    const job = jobAt(desk, clock);
    await job.view();
    const run = await desk.work.began(1);
    clock.jump(8 * HOUR);
    clock.shift(15_000);
    // Long enough to be applied, together with everything that was due before.
    const other = jobAt(desk, clock);
    expect(await other.view()).toMatchObject({ state: 'RUNNING' });
    expect(await job.view()).toMatchObject({ state: 'RUNNING' });
    run.done();
    await job.is({ state: 'SUCCEEDED' });
    clock.shift(60_000);
    expect((await other.is({ state: 'FAILED' })).error).toMatchObject({
      code: 'DEADLINE_EXCEEDED',
    });
  });

  it('whose envelope is too old by the clock at its acceptance is EXPIRED', async () => {
    const clock = new ShiftedClock();
    const desk = await openDesk(undefined, clock);
    const job = jobAt(desk, clock);
    clock.jump(2 * HOUR);
    expect((await job.view()).error).toMatchObject({ code: 'EXPIRED' });
  });
});
