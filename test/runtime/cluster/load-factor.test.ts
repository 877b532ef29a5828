import { describe, expect, it } from 'vitest';
import { LoadFactor } from '../../../runtime/cluster/load-factor.ts';
import { placeAll } from '../../../runtime/cluster/rendezvous.ts';
import { Random } from '../../../library/simulation/random.ts';
import { VirtualClock } from '../../../library/simulation/virtual-clock.ts';

const SHARDS = 64;

/** Workers whose loads are computed from the shards that their weights assign to them. */
class Loads {
  readonly clock = new VirtualClock();
  readonly factors: number[];
  /** times at which a factor changed, ms */
  readonly changedAtMs: number[] = [];
  readonly #own: LoadFactor[];
  readonly #speeds: readonly number[];
  readonly #loadOf: (shard: number, atMs: number) => number;

  constructor(speeds: readonly number[], loadOf: (shard: number, atMs: number) => number) {
    this.#speeds = speeds;
    this.#loadOf = loadOf;
    this.factors = speeds.map(() => 1);
    this.#own = speeds.map(() => new LoadFactor(this.clock));
  }

  loads(): number[] {
    const all = this.factors.map((weight, at) => ({ node: `${at}`, name: `w${at}`, weight }));
    const sums = this.#speeds.map(() => 0);
    const nowMs = this.clock.monotonicMs();
    placeAll(all, SHARDS).forEach((node, shard) => {
      sums[Number(node)]! += this.#loadOf(shard, nowMs);
    });
    return sums.map((sum, at) => Math.min(sum / this.#speeds[at]!, 1));
  }

  async run(hours: number): Promise<void> {
    for (let second = 0; second < hours * 3_600; second++) {
      const loads = this.loads();
      this.#own.forEach((own, at) => {
        const factor = own.next(loads[at]!, loads.toSpliced(at, 1));
        if (factor !== this.factors[at]) this.changedAtMs.push(this.clock.monotonicMs());
        this.factors[at] = factor;
      });
      await this.clock.run(this.clock.monotonicMs() + 1_000);
    }
  }
}

const spread = (loads: readonly number[]) => Math.max(...loads) - Math.min(...loads);

describe('the load factor', () => {
  it('moves shards off a slow machine, step by step, and then stops', async () => {
    const cluster = new Loads([1, 1, 0.5], () => 0.02);
    const before = spread(cluster.loads());
    await cluster.run(2);
    expect(spread(cluster.loads())).toBeLessThan(before / 2);
    expect(cluster.factors.every((factor) => factor >= 0.5 && factor <= 1)).toBe(true);
    const restless = cluster.changedAtMs.filter((atMs) => atMs > 3_600_000);
    expect(restless).toEqual([]);
  });

  it('changes at most once in 30 s', async () => {
    const alone = new VirtualClock();
    const factor = new LoadFactor(alone);
    const changes: number[] = [];
    for (let second = 0, last = 1; second < 600; second++) {
      const next = factor.next(1, [0, 0]);
      if (next !== last) changes.push(alone.monotonicMs());
      expect(Math.abs(next - last)).toBeLessThan(0.1001);
      last = next;
      await alone.run(alone.monotonicMs() + 1_000);
    }
    expect(changes).toHaveLength(5);
    changes
      .slice(1)
      .forEach((atMs, at) => expect(atMs - changes[at]!).toBeGreaterThanOrEqual(30_000));
  });

  it('ignores noise', async () => {
    const clock = new VirtualClock();
    const random = new Random(7);
    const factor = new LoadFactor(clock);
    const noisy = () => 0.1 + 0.6 * random.next();
    for (let second = 0; second < 4 * 3_600; second++) {
      expect(factor.next(noisy(), [noisy(), noisy(), noisy()])).toBe(1);
      await clock.run(clock.monotonicMs() + 1_000);
    }
  });

  it('does not move one hot shard from worker to worker', async () => {
    const cluster = new Loads([1, 1, 1], (shard) => (shard === 5 ? 0.8 : 0.002));
    await cluster.run(24);
    // Every change of direction doubles the pause, up to half an hour.
    const lastHours = cluster.changedAtMs.filter((atMs) => atMs > 12 * 3_600_000);
    expect(lastHours.length).toBeLessThanOrEqual(3 * 24);
    expect(cluster.changedAtMs.length).toBeLessThan(150);
  });

  it("returns a worker's share when the others have become busier", async () => {
    const clock = new VirtualClock();
    const factor = new LoadFactor(clock);
    let now = 1;
    const run = async (own: number, other: number) => {
      for (let second = 0; second < 1_200; second++) {
        now = factor.next(own, [other, other]);
        await clock.run(clock.monotonicMs() + 1_000);
      }
    };
    await run(0.9, 0.2);
    expect(now).toBe(0.5);
    await run(0.2, 0.9);
    expect(now).toBe(1);
  });
});
