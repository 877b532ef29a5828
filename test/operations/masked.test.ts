/** Secrets are replaced in strings only, so that the result is JSON. */
import { expect, it } from 'vitest';
import { masked } from '../../operations/masked.ts';

it('replaces secrets in strings, and leaves numbers and names', () => {
  const mask = (text: string) => text.replaceAll('12345678', '***');
  const value = { at: 123456789, note: ['a 12345678'], '12345678': null };
  expect(masked(value, mask)).toEqual({ at: 123456789, note: ['a ***'], '12345678': null });
});
