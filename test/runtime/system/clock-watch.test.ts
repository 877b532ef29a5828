/** A wrong clock is detected and reported once per episode, and is visible in the health report. */
import { describe, expect, it } from 'vitest';
import { clockFault, clockStatus } from '../../../runtime/index.ts';
import { ClockWatch } from '../../../runtime/clock/clock-watch.ts';
import type { ShardStatus } from '../../../runtime/index.ts';
import { VirtualClock } from '../../../library/simulation/virtual-clock.ts';
import { eventually } from '../eventually.ts';
import { ShiftedClock } from './shifted-clock.ts';
import { openWorld, puppet } from './world.ts';

const HOUR = 3_600_000;

it('a clock that is set back is reported once, and once more when it has caught up', async () => {
  const clock = new ShiftedClock();
  const world = await openWorld({ clock });
  const said = () => world.alarms.filter((what) => what.includes('clock'));
  const fault = () => clockFault(clockStatus(world.system.status(), clock.wallMs()));
  await world.ask(puppet('a'), { type: 'do' });
  expect(fault()).toBeUndefined();
  clock.jump(-2 * HOUR);
  await world.ask(puppet('a'), { type: 'do' });
  expect(fault()).toMatch(/set back: stored times are 120 min|2 h/);
  for (let look = 0; look < 3; look++) clock.shift(5_000);
  await eventually(() => expect(said()).toHaveLength(1));
  clock.jump(2 * HOUR);
  clock.shift(5_000);
  await eventually(() => expect(said()).toHaveLength(2));
  expect(said()[1]).toMatch(/correct again/);
  expect(fault()).toBeUndefined();
});

describe('the watch of a gateway', () => {
  it("reports that its machine's clock is an hour off, by the times of the owners of shards", async () => {
    const clock = new VirtualClock();
    const said: string[] = [];
    const owned = () =>
      [{ shard: 0, state: 'owned', now: clock.wallMs() - HOUR }] as unknown as ShardStatus[];
    const watch = new ClockWatch(clock, owned, (what) => void said.push(what));
    await clock.run(60_000);
    watch.close();
    expect(said).toEqual([expect.stringMatching(/of this machine is 60 min ahead of the store's/)]);
  });
});
