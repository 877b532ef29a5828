/**
 * Whole clusters by seed. `TROUPE_SEED=123` runs one seed, `TROUPE_SEEDS=1000-5000` a range of
 * them; without either the first thousand. A run that fails prints the line that runs it again and
 * the last events of its trace.
 */
import { expect, it } from 'vitest';
import { simulate, type Verdict } from './simulate.ts';

const SEEDS = '1-1000';
const SEEDS_PER_TEST = 100;
const TEST_MS = 110_000;
const TRACE_LINES = 40;

const [from = 1, to = from] = (process.env['TROUPE_SEED'] ?? process.env['TROUPE_SEEDS'] ?? SEEDS)
  .split('-')
  .map(Number);

const report = ({ seed, what, faults, trace }: Verdict): string =>
  [
    `TROUPE_SEED=${seed} npx vitest run test/sim/simulation.test.ts   (${what})`,
    ...faults.map((fault) => `  ${fault}`),
    `the end of its trace:`,
    ...trace.slice(-TRACE_LINES).map((line) => `  ${line}`),
  ].join('\n');

for (let first = from; first <= to; first += SEEDS_PER_TEST) {
  const last = Math.min(first + SEEDS_PER_TEST - 1, to);
  it(`accounts for every message of the clusters ${first} to ${last}`, {
    timeout: TEST_MS,
  }, async () => {
    const began = performance.now();
    let turns = 0;
    for (let seed = first; seed <= last; seed++) {
      const verdict = await simulate(seed);
      turns += verdict.turns;
      expect(verdict.faults.length === 0 ? '' : report(verdict)).toBe('');
    }
    const seconds = (performance.now() - began) / 1_000;
    const rate = ((last - first + 1) / seconds).toFixed(1);
    console.log(`seeds ${first}-${last}: ${turns} turns, ${rate} seeds/s`);
  });
}

it('repeats a run exactly for the same seed', async () => {
  const [once, again] = [await simulate(from), await simulate(from)];
  const named = ({ trace }: Verdict) =>
    trace.map((line) => line.replaceAll(/[0-9a-f-]{36}/g, 'id'));
  expect(named(again)).toEqual(named(once));
  expect(once.trace.length).toBeGreaterThan(0);
});
