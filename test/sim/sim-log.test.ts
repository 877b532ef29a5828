/**
 * The simulated log keeps the whole contract of a log when it has no faults. With faults, only the
 * seed decides.
 */
import { expect, it } from 'vitest';
import { AppendUnknown } from '../../runtime/log/log.ts';
import { logContract } from '../runtime/log/contract.ts';
import { Random } from '../../library/simulation/random.ts';
import { type LogFaults, NO_LOG_FAULTS, SimLog, type Stored } from './sim-log.ts';
import { settled, VirtualClock } from '../../library/simulation/virtual-clock.ts';

const make = async () => {
  const clock = new VirtualClock();
  const log = new SimLog({ clock, random: new Random(1) });
  let disposed = false;
  const pump = (async () => {
    while (!disposed) {
      await clock.run(clock.monotonicMs() + 1000);
      await settled();
    }
  })();
  const dispose = async () => {
    disposed = true;
    await pump;
    await log.close();
  };
  return { log, dispose };
};
logContract('simulated', make, { keepsOrder: false });

const FAULTS: LogFaults = { lost: 0.1, unanswered: 0.1, late: 0.1, failed: 0.1, slow: 0.2 };

/** The stored entries, and the results of 300 appends by three writers, in order. */
const trace = async (seed: number, faults: LogFaults): Promise<string[]> => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const onStored = ({ subject, position, bytes }: Stored) =>
    lines.push(
      `${clock.monotonicMs()} stored ${subject} ${position} ${Buffer.from(bytes).toString()}`,
    );
  const log = new SimLog({ clock, random: new Random(seed), onStored });
  log.faults = faults;
  const write = async (writer: number) => {
    for (let i = 0; i < 100; i++) {
      const outcome = await log
        .last('s')
        .then((expectedLast) => log.append('s', Buffer.from(`${writer}/${i}`), { expectedLast }))
        .then(({ kind }) => kind)
        .catch((error: Error) => error.name);
      lines.push(`${clock.monotonicMs()} result ${writer}/${i} ${outcome}`);
    }
  };
  await Promise.race([Promise.all([0, 1, 2].map(write)), clock.run(10 ** 7)]);
  return lines;
};

it('has the same results for the same seed, and others for another seed', async () => {
  const [first, second, other] = [
    await trace(7, FAULTS),
    await trace(7, FAULTS),
    await trace(8, FAULTS),
  ];
  expect(second).toEqual(first);
  expect(other).not.toEqual(first);
});

it('stores each append at most once and never against its expectation, despite losses', async () => {
  for (let seed = 0; seed < 20; seed++) {
    const lines = await trace(seed, FAULTS);
    const stored = lines.filter((line) => line.includes(' stored ')).map((line) => line.split(' '));
    expect(new Set(stored.map((words) => words[4])).size).toBe(stored.length);
    expect(stored.map((words) => Number(words[3]))).toEqual(stored.map((_, i) => i + 1));
    const acknowledged = lines.filter((line) => line.endsWith(' stored'));
    for (const line of acknowledged) {
      const name = line.split(' ')[2];
      expect(stored.some((words) => words[4] === name)).toBe(true);
    }
  }
});

it('reports unknown appends, of which some are stored and some are not', async () => {
  const lines = await trace(3, FAULTS);
  const unknown = lines
    .filter((line) => line.endsWith(AppendUnknown.name))
    .map((line) => line.split(' ')[2]);
  const stored = new Set(
    lines.filter((line) => line.includes(' stored ')).map((line) => line.split(' ')[4]),
  );
  expect(unknown.some((name) => stored.has(name))).toBe(true);
  expect(unknown.some((name) => !stored.has(name))).toBe(true);
  expect((await trace(3, NO_LOG_FAULTS)).some((line) => line.endsWith(AppendUnknown.name))).toBe(
    false,
  );
});
