/** Domains of dead letters: one row each, and a bounded number (I8). */
import { expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { openWorld, puppet } from '../system/world.ts';

const DOMAINS = 1_000;
const PER_TURN = 50;

it('letters of further domains beyond a thousand per shard are stored in the runtime’s own domain', async () => {
  const world = await openWorld({ shards: 1 });
  const a = puppet('a');
  const letter = (n: number) => ({
    domain: `d${n}`,
    reason: 'EXHAUSTED',
    error: { code: 'UNAVAILABLE', message: 'no answer' },
    to: a,
    event: { type: 'do', n },
  });
  for (let n = 0; n < DOMAINS; n += PER_TURN) {
    const abandons = Array.from({ length: PER_TURN }, (_, k) => letter(n + k));
    await world.ask(a, { type: 'do', abandons, answer: null });
  }
  const abandons = [letter(0), letter(DOMAINS)];
  await world.ask(a, { type: 'do', abandons, answer: null });
  const { deadLetters } = world.system;
  await eventually(async () => expect(await deadLetters.list({ domain: 'd0' })).toHaveLength(2));
  expect(await deadLetters.domains()).toHaveLength(DOMAINS + 1);
  const letters = await deadLetters.list({ domain: 'actors' });
  expect(letters).toMatchObject([{ domain: 'actors', reason: 'EXHAUSTED' }]);
  expect(await deadLetters.get(letters[0]!.position)).toMatchObject({ event: { n: DOMAINS } });
});
