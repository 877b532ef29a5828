/**
 * Transcripts that leave memory while they are read and written: each answer has every entry that
 * was stored before its read began, once and in order.
 */
import fc from 'fast-check';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { address, shardOf } from '../../protocols/address.ts';
import { transcriptSubject } from '../../protocols/subjects.ts';
import { systemClock } from '../../runtime/clock/clock.ts';
import { createMemoryStore } from '../../runtime/log/memory.ts';
import { encodeKept } from '../../runtime/shard/commit/records.ts';
import { LogTranscripts } from '../../runtime/transcripts.ts';

const SHARDS = 4;
const ACTOR = address('default', 'session', 'a');
const SHARD = shardOf(ACTOR, SHARDS);
/** Bytes of a text: a page ends after a few of the large ones. */
const LARGE = 400_000;

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ store: fc.constantFrom(10, 10, LARGE) }) },
  { weight: 4, arbitrary: fc.record({ read: fc.constantFrom(0, 0, 3) }) },
  { weight: 2, arbitrary: fc.record({ passivate: fc.constant(true) }) },
  { weight: 1, arbitrary: fc.record({ replace: fc.constant(true) }) },
  { weight: 4, arbitrary: fc.record({ wait: fc.nat(2) }) },
);

it('answers have all entries that were stored before, once and in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { log } = createMemoryStore({ clock: systemClock, atomic: false });
      const readNow = log.read.bind(log);
      // As from a server: what is stored meanwhile is not part of the page.
      log.read = async (...args) => {
        const page = await readNow(...args);
        await turn();
        return page;
      };
      const transcripts = new LogTranscripts(log, 'local', SHARDS);
      let owner = transcripts.writer(SHARD);
      let sent = 0;
      let stored = 0;
      const running: Promise<void>[] = [];
      let appending = Promise.resolve();
      const store = async (size: number, by: typeof owner, n: number) => {
        const entry = { type: 'note', n, text: '.'.repeat(size) };
        const event = { type: 'append', at: 1, entry };
        const bytes = encodeKept({ to: ACTOR, id: `${n}`, event, hops: 0 });
        const answer = await log.append(transcriptSubject('local', ACTOR), bytes);
        if (answer.kind !== 'stored') throw new Error(answer.kind);
        stored = n;
        by.stored(ACTOR, { position: answer.position, bytes });
      };
      const read = async (from: number) => {
        const before = stored;
        const page = await transcripts.read(ACTOR, { from: from + 1 });
        const found = page.map(({ entry }) => entry['n'] as number);
        expect(found).toEqual(found.map((_, at) => from + 1 + at));
        expect(found.length).toBeGreaterThanOrEqual(before - from);
      };
      for (const one of steps) {
        if ('store' in one) {
          const [by, n] = [owner, ++sent];
          appending = appending.then(() => store(one.store, by, n));
        } else if ('read' in one) running.push(read(one.read));
        else if ('passivate' in one) transcripts.passivate(SHARD, () => false);
        else if ('replace' in one) {
          await appending;
          owner.close();
          owner = transcripts.writer(SHARD);
        } else for (let n = 0; n < one.wait; n++) await turn();
      }
      await appending;
      await Promise.all(running);
      await read(0);
      transcripts.passivate(SHARD, () => false);
      expect(transcripts.kept).toEqual({ transcripts: 0, bytes: 0 });
    }),
  );
});
