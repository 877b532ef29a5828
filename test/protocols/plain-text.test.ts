import { expect, test } from 'vitest';
import { plainName, plainText } from '../../protocols/plain-text.ts';

test('characters that control a terminal, end a line or reverse the order of text are removed', () => {
  expect(plainText('a\u001b[2Jb\r\nc\u202ed\u2066e\u0085f\u2028g')).toBe('a [2Jb c d e f g');
  expect(plainText('Ann’s phone 👩‍💻 ünïcödé שלום')).toBe('Ann’s phone 👩‍💻 ünïcödé שלום');
});

test('a name is trimmed and truncated, never within a character', () => {
  expect(plainName('\n  box\u0000 \u200b', 10)).toBe('box');
  expect(plainName('ab👩', 3)).toBe('ab');
  expect(plainName('\ud800x', 10)).toBe('\ufffdx');
  expect(plainName('\u202e\u0007', 10)).toBe('');
});
