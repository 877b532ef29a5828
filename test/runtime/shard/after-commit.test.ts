/** AfterCommits: outputs that wait for transcripts. */
import { expect, test } from 'vitest';
import { systemClock } from '../../../runtime/clock/clock.ts';
import {
  type AfterCommitsOptions,
  AfterCommits,
} from '../../../runtime/shard/commit/after-commit.ts';

test('a waiting answer that cannot be sent raises an alarm and does not block later ones', async () => {
  const said: string[] = [];
  const alarms: string[] = [];
  const outside = {
    respond(_inbox: string, { id }: { id: string }) {
      if (id === 'large') throw new Error('too large');
      said.push(id);
    },
    alarm: (what: string) => void alarms.push(what),
  };
  const options = { fold: { shard: 0 }, outside, epoch: 1, timers: {}, wake() {} };
  const after = new AfterCommits(options as unknown as AfterCommitsOptions);
  const respond = (id: string) => ({ kind: 'respond', inbox: 'inbox', id }) as const;
  after.run([respond('large'), respond('beside')], 1, Promise.resolve());
  after.run([respond('behind')], 2);
  await after.done(systemClock, 1_000);
  expect(said).toEqual(['beside', 'behind']);
  expect(alarms).toEqual(['shard 0: too large']);
});
