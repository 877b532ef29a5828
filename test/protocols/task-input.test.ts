import { expect, test } from 'vitest';
import { inputDigest, jsonOrText } from '../../protocols/task-input.ts';

test('an input is the JSON of a text, or the text', () => {
  expect(jsonOrText('{"approved":true}')).toEqual({ approved: true });
  expect(jsonOrText('yes')).toBe('yes');
});

test('JSON that is nested too deep is an input as text, which has a digest', () => {
  const text = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  expect(jsonOrText(text)).toBe(text);
  expect(inputDigest(jsonOrText(text))).toMatch(/^[\w-]{43}$/);
});
