/**
 * The contract of Log, run on every adapter: P1 to P5 and the edge cases. An adapter provides a
 * function that creates a new, empty log.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Log, LogEntry, Position } from '../../../runtime/log/log.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { eventually } from '../eventually.ts';

export type LogUnderTest = {
  readonly log: Log;
  /**
   * closes the log and opens another one on the same data; absent for a log in memory
   */
  readonly reopen?: () => Promise<LogUnderTest>;
  readonly dispose: () => Promise<void>;
};

const bytes = (text: string): Uint8Array => Buffer.from(text);
const texts = (entries: readonly { readonly bytes: Uint8Array }[]): string[] =>
  entries.map((entry) => Buffer.from(entry.bytes).toString());
const positions = (entries: readonly { readonly position: Position }[]): Position[] =>
  entries.map((entry) => entry.position);

export type LogTraits = {
  /** whether concurrent appends of one caller keep their order, which P1 to P5 do not require */
  readonly keepsOrder: boolean;
};

export const logContract = (
  name: string,
  make: () => Promise<LogUnderTest>,
  traits: LogTraits = { keepsOrder: true },
): void => {
  describe(`Log contract: ${name}`, () => {
    let under: LogUnderTest;
    let log: Log;
    beforeEach(async () => {
      under = await make();
      log = under.log;
    });
    afterEach(() => under.dispose());

    const store = async (
      subject: string,
      text: string,
      expectedLast?: Position,
    ): Promise<Position> => {
      const options = expectedLast === undefined ? {} : { expectedLast };
      const answer = await log.append(subject, bytes(text), options);
      if (answer.kind !== 'stored') throw new Error(`refused at ${answer.last}`);
      return answer.position;
    };

    it('returns positions that rise from one, and reads entries in that order', async () => {
      const stored = [await store('s', 'a'), await store('s', 'b'), await store('s', 'c')];
      expect(stored[0]).toBeGreaterThanOrEqual(1);
      expect(stored).toEqual([...stored].sort((a, b) => a - b));
      expect(new Set(stored).size).toBe(3);
      const read = await log.read('s', 0);
      expect(texts(read)).toEqual(['a', 'b', 'c']);
      expect(positions(read)).toEqual(stored);
    });

    it('keeps appends of one caller in the order of the calls', async (context) => {
      if (!traits.keepsOrder) return context.skip('appends may overtake each other on the way');
      const wanted = Array.from({ length: 500 }, (_, i) => `entry ${i}`);
      await Promise.all(wanted.map((text) => log.append('s', bytes(text))));
      expect(texts(await log.read('s', 0))).toEqual(wanted);
    });

    it('returns nothing for a subject without appends', async () => {
      await store('other', 'x');
      expect(await log.last('s')).toBe(0);
      expect(await log.readLast('s')).toBeUndefined();
      expect(await log.read('s', 1)).toEqual([]);
    });

    it('stores an append that expects the last position, zero meaning none (P1)', async () => {
      const first = await store('s', 'a', 0);
      const second = await store('s', 'b', first);
      expect(await log.last('s')).toBe(second);
    });

    it('refuses an append whose expectation failed, returns the last position, and stores nothing (P1)', async () => {
      const first = await store('s', 'a');
      const last = await store('s', 'b');
      for (const expectedLast of [0, first, last + 1]) {
        expect(await log.append('s', bytes('x'), { expectedLast })).toEqual({
          kind: 'refused',
          last,
        });
      }
      expect(texts(await log.read('s', 0))).toEqual(['a', 'b']);
      expect(await log.append('t', bytes('x'), { expectedLast: 7 })).toEqual({
        kind: 'refused',
        last: 0,
      });
      expect(await log.last('t')).toBe(0);
    });

    it('accepts exactly one of many concurrent appends with one expectation (P2)', async () => {
      for (let round = 0, last = 0; round < 20; round++) {
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, i) =>
            log.append('s', bytes(`${round}/${i}`), { expectedLast: last }),
          ),
        );
        const stored = answers.filter((answer) => answer.kind === 'stored');
        expect(stored).toHaveLength(1);
        last = stored[0]!.position;
        expect(
          answers.filter((answer) => answer.kind === 'refused' && answer.last === last),
        ).toHaveLength(7);
      }
      expect(await log.read('s', 0)).toHaveLength(20);
    });

    it('shows an answered append to every read that follows in the same tick (P3)', async () => {
      for (let i = 0; i < 50; i++) {
        const position = await store('s', `${i}`);
        const [last, readLast, read] = await Promise.all([
          log.last('s'),
          log.readLast('s'),
          log.read('s', position),
        ]);
        expect(last).toBe(position);
        expect(readLast?.position).toBe(position);
        expect(texts(read)).toEqual([`${i}`]);
      }
    });

    it('reads from a position on, and nothing above the last', async () => {
      const stored = [];
      for (const text of ['a', 'b', 'c', 'd']) stored.push(await store('s', text));
      expect(texts(await log.read('s', stored[2]!))).toEqual(['c', 'd']);
      expect(await log.read('s', stored[3]! + 1)).toEqual([]);
    });

    it('returns at most `limit` entries, and at least one, whatever the limit of bytes', async () => {
      for (let i = 0; i < 10; i++) await store('s', `${i}`.repeat(100));
      expect(await log.read('s', 0, { limit: 3 })).toHaveLength(3);
      expect(await log.read('s', 0, { bytesMax: 250 })).toHaveLength(3);
      expect(await log.read('s', 0, { bytesMax: 1 })).toHaveLength(1);
      expect(await log.read('s', 0)).toHaveLength(10);
    });

    it('returns everything, unless a limit is reached', async () => {
      for (let i = 0; i < 10; i++) await store(i % 2 === 0 ? 's' : 't', `${i}`);
      for (const limit of [6, 7, 1_000])
        expect(texts(await log.read('s', 0, { limit }))).toEqual(['0', '2', '4', '6', '8']);
      expect(texts(await log.read('t', 0, { bytesMax: 6 }))).toEqual(['1', '3', '5', '7', '9']);
    });

    it('returns 1,000 entries by default', async () => {
      await Promise.all(Array.from({ length: 1005 }, (_, i) => log.append('s', bytes(`${i}`))));
      const read = await log.read('s', 0);
      expect(read).toHaveLength(1000);
      expect(await log.read('s', read.at(-1)!.position + 1)).toHaveLength(5);
    });

    it('trims up to a position, accepts a repeat, and never uses a position twice (P4)', async () => {
      const stored = [];
      for (const text of ['a', 'b', 'c', 'd']) stored.push(await store('s', text));
      await log.trim('s', stored[1]!);
      await log.trim('s', stored[1]!);
      await log.trim('s', 0);
      expect(texts(await log.read('s', 0))).toEqual(['c', 'd']);
      expect(texts(await log.read('s', stored[0]!))).toEqual(['c', 'd']);
      expect(await store('s', 'e')).toBeGreaterThan(stored[3]!);
    });

    // The last position of an empty subject is 0, which would admit a paused writer with that
    // expectation (T2).
    it('never trims the last entry, so a subject never looks as if it were new (P4)', async () => {
      await store('s', 'a');
      const last = await store('s', 'b');
      await log.trim('s', last + 1000);
      expect(await log.last('s')).toBe(last);
      expect(texts(await log.read('s', 0))).toEqual(['b']);
      expect((await log.readLast('s'))?.position).toBe(last);
      expect(await log.append('s', bytes('x'), { expectedLast: 0 })).toEqual({
        kind: 'refused',
        last,
      });
      await store('s', 'c', last);
    });

    it('trims only the given subject, and accepts one that does not exist', async () => {
      await store('s', 'a');
      await store('s', 'b');
      await store('t', 'c');
      await store('t', 'd');
      await log.trim('t', 1000);
      await log.trim('nothing', 5);
      expect(texts(await log.read('s', 0))).toEqual(['a', 'b']);
      expect(await log.last('nothing')).toBe(0);
    });

    it('assigns every entry a log time that never decreases (P5)', async () => {
      const answer = await log.append('s', bytes('a'));
      for (let i = 0; i < 5; i++) await store('s', 'b');
      const times = (await log.read('s', 0)).map((entry) => entry.logTimeMs);
      expect(times.every((time) => Number.isFinite(time) && time > 0)).toBe(true);
      expect(times).toEqual([...times].sort((a, b) => a - b));
      if (answer.kind !== 'stored') throw new Error('refused');
      if (answer.logTimeMs !== undefined) expect(answer.logTimeMs).toBe(times[0]);
    });

    it('keeps the bytes exactly, also empty ones and 900 KB', async () => {
      const big = Buffer.alloc(900_000);
      for (let i = 0; i < big.length; i++) big[i] = (i * 31) & 0xff;
      await log.append('s', new Uint8Array(0));
      await log.append('s', big);
      await log.append('s', Uint8Array.of(0, 255, 10, 13));
      const [empty, large, odd] = await log.read('s', 0);
      expect(empty?.bytes.length).toBe(0);
      expect(Buffer.from(large!.bytes).equals(big)).toBe(true);
      expect([...odd!.bytes]).toEqual([0, 255, 10, 13]);
    });

    it('stops a read of large entries at 8 MiB by default', async () => {
      const big = Buffer.alloc(900_000, 1);
      for (let i = 0; i < 12; i++) await log.append('s', big);
      expect((await log.read('s', 0)).length).toBeLessThan(12);
      expect(await log.read('s', 0, { bytesMax: 64 * 2 ** 20 })).toHaveLength(12);
    });

    it('keeps 10,000 subjects apart', async () => {
      const names = Array.from({ length: 10_000 }, (_, i) => `trn.default.agent.key%20${i}`);
      await Promise.all(names.map((subject) => log.append(subject, bytes(subject))));
      for (const subject of names.filter((_, i) => i % 977 === 0)) {
        expect(texts(await log.read(subject, 0))).toEqual([subject]);
      }
    });

    it('follows a subject from a position on: stored and then new entries, in order, once', async () => {
      const stored = [await store('s', 'a'), await store('s', 'b'), await store('s', 'c')];
      const follow = log.follow('s', stored[1]!);
      const seen: LogEntry[] = [];
      const done = (async () => {
        while (seen.length < 502) seen.push(...(await follow.next()));
      })();
      await eventually(() => expect(texts(seen)).toEqual(['b', 'c']));
      for (let i = 0; i < 500; i++) {
        const options = i % 50 === 0 ? await log.last('s') : undefined;
        await store('s', `${i}`, options);
        await store('t', 'foreign');
      }
      await done;
      expect(texts(seen).slice(2)).toEqual(Array.from({ length: 500 }, (_, i) => `${i}`));
      expect(positions(seen)).toEqual(positions(await log.read('s', stored[1]!)));
      follow.close();
    });

    it('follows a subject that does not exist yet, and one whose beginning is trimmed', async () => {
      const early = log.follow('s', 1);
      const first = early.next();
      for (const text of ['a', 'b', 'c']) await store('s', text);
      expect(texts(await first)[0]).toBe('a');
      early.close();
      await log.trim('s', await log.last('s'));
      const late = log.follow('s', 1);
      expect(texts(await late.next())).toEqual(['c']);
      late.close();
    });

    it('reports how many entries a follow will deliver at first', async () => {
      await Promise.all(Array.from({ length: 2_000 }, (_, i) => store('s', `${i}`)));
      const follow = log.follow('s', 1);
      let seen = (await follow.next()).length;
      await eventually(() => expect(follow.pending).toBe(2_000 - seen));
      while (seen < 2_000) seen += (await follow.next()).length;
      expect(follow.pending).toBe(0);
      follow.close();
    });

    it('ends a follow that is closed, also one that waits', async () => {
      const follow = log.follow('s', 1);
      const waiting = follow.next();
      follow.close();
      follow.close();
      expect(await waiting).toEqual([]);
      expect(await follow.next()).toEqual([]);
    });

    it('refuses everything after close, and stores earlier appends', async () => {
      const asked = log.append('s', bytes('a'));
      const closed = asked.then(() => log.close());
      expect((await asked).kind).toBe('stored');
      await closed;
      const refusals = await Promise.allSettled([
        log.append('s', bytes('b')),
        log.last('s'),
        log.readLast('s'),
        log.read('s', 0),
        log.trim('s', 1),
      ]);
      for (const refused of refusals) {
        expect(refused).toMatchObject({ status: 'rejected', reason: expect.any(TroupeError) });
      }
    });

    atomicContract(() => under);
    reopenContract(
      () => under,
      (next) => {
        under = next;
        log = next.log;
      },
    );
  });
};

const atomicContract = (under: () => LogUnderTest): void => {
  describe('where it is atomic', () => {
    const alongside = {
      entries: [
        { subject: 'mail', bytes: bytes('m1') },
        { subject: 'mail', bytes: bytes('m2') },
      ],
    };

    it('stores the additional entries of a stored append', async (context) => {
      const { log } = under();
      if (!log.atomic) return context.skip('this log is not atomic');
      await log.append('journal', bytes('j'), { expectedLast: 0, alongside });
      expect(texts(await log.read('mail', 0))).toEqual(['m1', 'm2']);
    });

    it('stores no additional entries of a refused append', async (context) => {
      const { log } = under();
      if (!log.atomic) return context.skip('this log is not atomic');
      expect((await log.append('journal', bytes('j'), { expectedLast: 9, alongside })).kind).toBe(
        'refused',
      );
      expect(await log.last('mail')).toBe(0);
    });

    it('refuses additional entries when it is not atomic', async (context) => {
      const { log } = under();
      if (log.atomic) return context.skip('this log is atomic');
      await expect(log.append('journal', bytes('j'), { alongside })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    });
  });
};

const reopenContract = (under: () => LogUnderTest, use: (next: LogUnderTest) => void): void => {
  it('keeps entries, positions and trims when it is closed and opened again', async (context) => {
    const { log, reopen } = under();
    if (reopen === undefined) return context.skip('nothing outlives this log');
    for (const text of ['a', 'b', 'c']) await log.append('s', bytes(text));
    await log.append('t', bytes('d'));
    const last = await log.last('s');
    await log.trim('s', last);
    const next = await reopen();
    use(next);
    expect(await next.log.last('s')).toBe(last);
    expect(texts(await next.log.read('s', 0))).toEqual(['c']);
    expect(texts(await next.log.read('t', 0))).toEqual(['d']);
    expect(await next.log.append('s', bytes('x'), { expectedLast: 0 })).toEqual({
      kind: 'refused',
      last,
    });
    const answer = await next.log.append('s', bytes('e'), { expectedLast: last });
    expect(answer.kind === 'stored' && answer.position).toBeGreaterThan(last);
    expect(texts(await next.log.read('s', 0))).toEqual(['c', 'e']);
    await next.log.append('new', bytes('n'));
    expect(texts(await next.log.read('new', 0))).toEqual(['n']);
    expect(texts(await next.log.read('t', 0))).toEqual(['d']);
  });
};
