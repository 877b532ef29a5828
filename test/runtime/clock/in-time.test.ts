/** A wait with a limit, on a virtual clock. */
import { expect, it } from 'vitest';
import { VirtualClock } from '../../../library/simulation/virtual-clock.ts';
import { inTime } from '../../../runtime/clock/in-time.ts';

const never = new Promise<never>(() => {});

it('brings the result that comes in time, and forgets the limit', async () => {
  const clock = new VirtualClock();
  let isLate = false;
  const late = () => (isLate = true);
  expect(await inTime(clock, Promise.resolve(7), 10, late)).toBe(7);
  await expect(inTime(clock, Promise.reject(new Error('broken')), 10, late)).rejects.toThrow(
    'broken',
  );
  await clock.run(20);
  expect(isLate).toBe(false);
});

it('ends at the limit as the caller wants, and ignores a later rejection', async () => {
  const clock = new VirtualClock();
  let fail: (why: Error) => void = () => {};
  const slow = new Promise<never>((_, reject) => (fail = reject));
  const given = inTime(clock, slow, 10, () => 'late');
  const thrown = inTime(clock, never, 10, () => {
    throw new Error('it does not answer');
  });
  thrown.catch(() => {});
  await clock.run(10);
  expect(await given).toBe('late');
  await expect(thrown).rejects.toThrow('it does not answer');
  fail(new Error('too late'));
});
