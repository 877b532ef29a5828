/**
 * No accepted message is lost or applied twice when an installation is killed during its work and
 * continues on another machine. The test counts every message, and every message that these caused.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { bundle, type Program } from '../log/child.ts';
import { puppet } from '../system/world.ts';
import { Carried, exported, moved, scratch } from './carried.ts';
import { RECEIVERS, SENDERS } from './flood.ts';
import { allPlaces } from './places.ts';

const ACCEPTED_MIN = 600;

let program: Program;
beforeAll(async () => {
  program = await bundle(join(import.meta.dirname, 'flood.program.ts'));
});
afterAll(() => program.remove());

/** Numbers of the messages that a system accepted before it was killed with SIGKILL. */
async function floodAndKill(path: string): Promise<readonly number[]> {
  const child = program.start([path]);
  await eventually(() => {
    if (child.lines().length < ACCEPTED_MIN)
      throw new Error(`it accepts too few messages: ${child.stderr()}`);
  });
  child.process.kill('SIGKILL');
  await child.ended;
  return child.lines().map(Number);
}

const numbersIn = (seen: readonly string[]) => seen.map((label) => Number(label.split(':')[1]));

describe.each(allPlaces())('killed in a flood and moved to $name', ({ make }) => {
  it('an installation applies its accepted messages once and in order', {
    timeout: 60_000,
  }, async () => {
    const path = await scratch();
    const accepted = await floodAndKill(path);
    expect(accepted.length).toBeGreaterThanOrEqual(ACCEPTED_MIN);
    const { file, summary } = await exported(path);
    expect(summary.entries).toBeGreaterThan(0);

    const { place } = await moved(make, file);
    const there = await Carried.open(place);
    await eventually(() => {
      for (const { lag } of there.system.status()) expect(lag).toBe(0);
      for (const key of RECEIVERS) expect(there.known(puppet(key)).seen).toHaveLength(total());
    });
    const applied = SENDERS.flatMap((key) => numbersIn(there.known(puppet(key)).seen));
    expect(new Set(applied).size).toBe(applied.length);
    const missing = accepted.filter((n) => !applied.includes(n));
    expect(missing).toEqual([]);
    for (const [s, key] of SENDERS.entries()) {
      const mine = numbersIn(there.known(puppet(key)).seen);
      expect(mine).toEqual(mine.toSorted((a, b) => a - b));
      // where the log is not atomic, a relay adds entries after the commit
      await eventually(async () => {
        const said = await there.system.transcripts.read(puppet(key), { limit: 100_000 });
        expect(said.map(({ entry }) => entry['n'])).toEqual(mine);
      });
      for (const receiver of RECEIVERS) {
        const received = numbersIn(there.known(puppet(receiver)).seen);
        expect(received.filter((n) => n % SENDERS.length === s)).toEqual(mine);
      }
    }

    function total(): number {
      return SENDERS.reduce((sum, key) => sum + there.known(puppet(key)).seen.length, 0);
    }
  });
});
