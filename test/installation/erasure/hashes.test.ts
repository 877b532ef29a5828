/** Files are found by their hash wherever a text names it. */
import { expect, it } from 'vitest';
import { hashesIn } from '../../../installation/erasure/mentions.ts';

it('a hash counts as a text of its own and as a part of a URL, and not inside of a longer one', () => {
  const [own, inUrl] = ['a'.repeat(64), '0'.repeat(64)];
  const value = { own, deep: [`see http://127.0.0.1/v1/artifacts/${inUrl}?e=1`, 'f'.repeat(65)] };
  expect([...hashesIn(value)]).toEqual([own, inUrl]);
});
