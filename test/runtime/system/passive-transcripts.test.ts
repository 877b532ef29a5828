/**
 * Where a process owns the shard, the transcript of an idle actor leaves memory with the actor. On
 * a cluster the system of these tests is a reader, which keeps what it has read within its bounds.
 */
import { expect, it } from 'vitest';
import type { LogTranscripts } from '../../../runtime/transcripts.ts';
import { eventually } from '../eventually.ts';
import { puppetType } from './puppet.ts';
import { ShiftedClock } from './shifted-clock.ts';
import { openWorld, puppet } from './world.ts';

const a = puppet('a');

it('the transcript of an actor leaves memory with it', async () => {
  const clock = new ShiftedClock();
  const world = await openWorld({ clock, actors: [puppetType({ idleMs: 30_000 })] });
  const transcripts = world.system.transcripts as LogTranscripts;
  await world.ask(a, { type: 'do', appends: [{ type: 'note' }] });
  expect(await transcripts.read(a)).toHaveLength(1);
  expect(transcripts.kept.transcripts).toBe(1);
  clock.shift(40_000);
  await eventually(() => expect(transcripts.kept).toEqual({ transcripts: 0, bytes: 0 }));
  expect(await transcripts.read(a)).toHaveLength(1);
});
