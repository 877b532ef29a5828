/** Upkeep: when an owner without work looks whether it still owns its shard (A7). */
import { expect, it } from 'vitest';
import { MemoryLog } from '../../../runtime/log/memory.ts';
import { Journal } from '../../../runtime/shard/commit/journal.ts';
import { Upkeep } from '../../../runtime/shard/recovery/upkeep.ts';
import type { ActivatedActors } from '../../../runtime/shard/turn/activated-actors.ts';
import { ManualClock } from '../../agent/models/manual-clock.ts';

const PROBE_MS = 1_000;

/** Notes when it was asked for the last entry of a subject. */
class NotingLog extends MemoryLog {
  readonly asked = new Map<string, number[]>();
  readonly #now: () => number;

  constructor(clock: ManualClock) {
    super(clock, false);
    this.#now = () => clock.monotonicMs();
  }

  override readLast(subject: string): ReturnType<MemoryLog['readLast']> {
    this.asked.set(subject, [...(this.asked.get(subject) ?? []), this.#now()]);
    return super.readLast(subject);
  }
}

// Bug hunted: 64 shards looked at 64 moments of each second, with a write to the socket each.
it('all shards of a process look at the same moments, each once in its period', async () => {
  const clock = new ManualClock();
  const log = new NotingLog(clock);
  const ends: (() => void)[] = [];
  const begin = (subject: string) => {
    const quiet = { onLogTime: () => {}, onTrouble: () => {} };
    const upkeep = new Upkeep({
      log,
      clock,
      subject,
      journal: new Journal({ log, clock, subject, last: 0, ...quiet }),
      residents: { passivate: () => {} } as unknown as ActivatedActors,
      idleProbeMs: PROBE_MS,
      isIdle: () => false,
      onReplaced: () => {},
      onPassivated: () => {},
      onClockSet: () => {},
      onSettledLong: () => {},
    });
    ends.push(() => upkeep.close());
  };
  const subjects = Array.from({ length: 40 }, (_, i) => `s${i}`);
  const beganMs = new Map<string, number>();
  const pass = async (ms: number) => {
    for (let i = 0; i < ms; i++) {
      clock.advance(1);
      // the answer of the log, after which the next look is set
      for (let n = 0; n < 5; n++) await Promise.resolve();
    }
  };
  for (const subject of subjects) {
    beganMs.set(subject, clock.monotonicMs());
    begin(subject);
    await pass(7);
  }
  await pass(3 * PROBE_MS);
  for (const end of ends) end();
  for (const subject of subjects) {
    const times = log.asked.get(subject)!;
    expect(times.length).toBeGreaterThanOrEqual(3);
    times.reduce((before, at) => {
      expect(at - before).toBeLessThanOrEqual(PROBE_MS);
      expect(at - before).toBeGreaterThan(PROBE_MS * 0.85);
      return at;
    }, beganMs.get(subject)!);
  }
  const lastLooks = new Set(subjects.map((subject) => log.asked.get(subject)!.at(-1)));
  expect(lastLooks.size).toBeLessThanOrEqual(10);
});
