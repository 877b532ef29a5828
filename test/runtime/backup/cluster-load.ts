/** The actors of the load on a cluster, and the account of what they have received. */
import { expect } from 'vitest';
import type { System } from '../../../runtime/index.ts';
import { eventually } from '../eventually.ts';
import type { Known } from '../system/puppet.ts';
import { puppet } from '../system/world.ts';

export type LoadProcess = {
  readonly url: string;
  readonly name: string;
  readonly role: 'worker' | 'gateway' | 'backup';
  /** of its rows; of `backup`: the folder of backups */
  readonly folder: string;
  readonly env: string;
  readonly shards: number;
};

/** Each message goes from one of the first over one of the middle ones to one of the last. */
export const FIRST = Array.from({ length: 24 }, (_, i) => `a${i}`);
export const MIDDLE = Array.from({ length: 20 }, (_, i) => `b${i}`);
export const LAST = Array.from({ length: 17 }, (_, i) => `c${i}`);

/**
 * Every accepted message is applied by the first actors, and every one that they have applied is
 * applied once by the others, and nothing else is; also in the transcripts. Returns the numbers,
 * sorted.
 * @param accepted numbers that are waited for: a shard counts mail that it has not looked at yet as
 * no lag, so a system that has just started may seem to have nothing to do
 */
export async function accountFor(
  system: System,
  accepted: readonly number[],
): Promise<readonly number[]> {
  const seen = (keys: readonly string[]): number[] =>
    keys
      .flatMap((key) => (system.inspect(puppet(key))?.context as Known | undefined)?.seen ?? [])
      .map((label) => Number(label.split(':')[1]))
      .toSorted((a, b) => a - b);
  const sent = () => seen(FIRST);
  const missing = () => {
    const found = new Set(sent());
    return accepted.filter((n) => !found.has(n));
  };
  await eventually(() => {
    expect(missing()).toEqual([]);
    for (const { lag } of system.status()) expect(lag).toBe(0);
    expect(seen(MIDDLE).length).toBe(sent().length);
    expect(seen(LAST).length).toBe(sent().length);
  });
  expect(new Set(sent()).size).toBe(sent().length);
  expect(seen(MIDDLE)).toEqual(sent());
  expect(seen(LAST)).toEqual(sent());
  await eventually(async () => {
    const said: number[] = [];
    for (const key of FIRST) {
      const entries = await system.transcripts.read(puppet(key), { limit: 100_000 });
      said.push(...entries.map(({ entry }) => entry['n'] as number));
    }
    expect(said.toSorted((a, b) => a - b)).toEqual(sent());
  });
  return sent();
}
