import { systemClock } from '../../../runtime/clock/clock.ts';
import { VirtualClock } from '../../../library/simulation/virtual-clock.ts';
import { eventually } from '../eventually.ts';
import { clockContract } from './contract.ts';

clockContract('system', () => ({
  clock: systemClock,
  until: (isOver) =>
    eventually(() => {
      if (!isOver()) throw new Error('the time has not come');
    }),
}));

clockContract('virtual', () => {
  const clock = new VirtualClock();
  return { clock, until: (isOver) => clock.run(clock.monotonicMs() + 1000, isOver) };
});
