/** The contract of Bus, run on every adapter. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Bus } from '../../../runtime/bus/bus.ts';
import { eventually } from '../eventually.ts';

export type BusUnderTest = {
  readonly bus: Bus;
  /** advances time until the promise is settled; absent with a real clock */
  readonly until?: <T>(promise: Promise<T>) => Promise<T>;
  /** waits until everything published so far has arrived; absent if delivery needs no waiting */
  readonly settle?: () => Promise<void>;
};

export const busContract = (name: string, make: () => Promise<BusUnderTest>): void => {
  describe(`Bus contract: ${name}`, () => {
    let under: BusUnderTest;
    let bus: Bus;
    beforeEach(async () => {
      under = await make();
      bus = under.bus;
    });
    afterEach(() => bus.close());

    const arrived = async (check: () => void): Promise<void> => {
      await under.settle?.();
      await eventually(check);
    };
    const passed = <T>(promise: Promise<T>): Promise<T> => under.until?.(promise) ?? promise;
    /** the published subjects that a pattern receives */
    const heard = (pattern: string): string[] => {
      const subjects: string[] = [];
      bus.subscribe(pattern, ({ subject }) => subjects.push(subject));
      return subjects;
    };

    it('delivers to each subscriber in the order of publishing, after the publisher has continued', async () => {
      const first: unknown[] = [];
      const second: unknown[] = [];
      bus.subscribe('s', ({ payload }) => first.push(payload));
      bus.subscribe('s', ({ payload }) => second.push(payload));
      for (let i = 0; i < 100; i++) bus.publish('s', i);
      expect(first).toEqual([]);
      const all = Array.from({ length: 100 }, (_, i) => i);
      await arrived(() => expect([first, second]).toEqual([all, all]));
    });

    it('matches `*` with one token and a last `>` with one or more', async () => {
      const patterns = ['run.*.x', 'run.>', 'run.a.x', '*', '>', 'run.*'];
      const all = patterns.map((pattern) => heard(pattern));
      for (const subject of ['run', 'run.a', 'run.a.x', 'run.b.x', 'run.a.b.x', 'else.a'])
        bus.publish(subject, 0);
      await arrived(() => expect(all[4]).toHaveLength(6));
      expect(all[0]).toEqual(['run.a.x', 'run.b.x']);
      expect(all[1]).toEqual(['run.a', 'run.a.x', 'run.b.x', 'run.a.b.x']);
      expect(all[2]).toEqual(['run.a.x']);
      expect(all[3]).toEqual(['run']);
      expect(all[5]).toEqual(['run.a']);
    });

    it('delivers nothing after unsubscribe, not even earlier messages', async () => {
      const got: unknown[] = [];
      const stop = bus.subscribe('s', ({ payload }) => got.push(payload));
      const other = heard('s');
      bus.publish('s', 1);
      stop();
      stop();
      bus.publish('s', 2);
      await arrived(() => expect(other).toHaveLength(2));
      expect(got).toEqual([]);
    });

    it('drops messages without a subscriber', async () => {
      bus.publish('s', 1);
      const late = heard('s');
      const marker = heard('marker');
      bus.publish('marker', 0);
      await arrived(() => expect(marker).toHaveLength(1));
      expect(late).toEqual([]);
    });

    it('answers a request with the first response and ignores others', async () => {
      bus.subscribe('double', ({ payload, respond }) => {
        respond((payload as number) * 2);
        respond('too late');
      });
      bus.subscribe('double', ({ respond }) => respond('second'));
      expect(await passed(bus.request('double', 21, { timeoutMs: 10_000 }))).toBe(42);
    });

    it('ignores a response to a message that was not a request', async () => {
      let responded = false;
      bus.subscribe('s', ({ respond }) => {
        respond('no request');
        responded = true;
      });
      bus.publish('s', 1);
      await arrived(() => expect(responded).toBe(true));
    });

    it('ends a request with UNAVAILABLE when there is no responder', async () => {
      const asked = passed(bus.request('unknown', 1, { timeoutMs: 10_000 }));
      await expect(asked).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    });

    it('ends a request with DEADLINE_EXCEEDED when no reply arrives in time', async () => {
      bus.subscribe('silent', () => {});
      const asked = passed(bus.request('silent', 1, { timeoutMs: 20 }));
      await expect(asked).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    });

    it('ends open requests at close and refuses later ones', async () => {
      bus.subscribe('silent', () => {});
      const asked = Promise.allSettled([passed(bus.request('silent', 1, { timeoutMs: 10_000 }))]);
      await bus.close();
      await bus.close();
      const reason = expect.objectContaining({ code: 'UNAVAILABLE' });
      expect(await asked).toEqual([{ status: 'rejected', reason }]);
      expect(() => bus.publish('s', 1)).toThrow(/closed/);
      expect(() => bus.subscribe('s', () => {})).toThrow(/closed/);
      await expect(bus.request('s', 1, { timeoutMs: 10 })).rejects.toMatchObject({
        code: 'UNAVAILABLE',
      });
    });
  });
};
