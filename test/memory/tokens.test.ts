import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isPlainWord, tokensOf } from '../../memory/tokens.ts';

test.each([
  ['The Cat’s nap', ['the', 'cat', 's', 'nap']],
  ['Đà Nẵng', ['đà', 'da', 'nẵng', 'nang']],
  // composed and decomposed marks are the same
  ['e\u0301t\u0301', tokensOf('e\u0301t\u0301'.normalize('NFC'))],
  ['数据库', ['数', '据', '数据', '库', '据库']],
  ['用React写', ['用', 'react', '写']],
  [
    'E_LOCK_4471 in src/a.ts',
    ['e', 'lock', '4471', 'in', 'src', 'a', 'ts', 'e_lock_4471', 'src/a.ts'],
  ],
  ['v2.1.3', ['v2', '1', '3', 'v2.1.3']],
  ['สวัสดี', tokensOf('สวัสดี')],
  ['  … !? \u0000 ', []],
])('%s', (text, tokens) => {
  expect(tokensOf(text)).toEqual(tokens);
});

test('scripts without spaces have pairs, so that a part of a text finds it', () => {
  for (const [text, part] of [
    ['สวัสดีครับ', 'สวัสดี'],
    ['データベース', 'ベース'],
  ] as const) {
    const all = new Set(tokensOf(text));
    expect(tokensOf(part).filter((token) => !all.has(token))).toEqual([]);
  }
});

test('data without spaces is cut, and no token is empty', () => {
  const tokens = tokensOf('x'.repeat(100_000));
  expect(tokens.every((token) => token.length > 0 && token.length <= 64)).toBe(true);
});

test('only words without marks, of letters, have similar words', () => {
  expect(['cat', 'nang'].every(isPlainWord)).toBe(true);
  expect(['ab', '4471', 'e_lock_4471', '数据', 'x'.repeat(33)].some(isPlainWord)).toBe(false);
});

test('a text of ASCII has the tokens that it has within another text', () => {
  const part = fc.constantFrom('Cat', 'e_lock', '.', ' ', '/', 'v2', '-', '\n', '4471', '_', ':');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
      const text = parts.join('');
      expect(tokensOf(`${text} 猫`).filter((token) => token !== '猫')).toEqual(tokensOf(text));
    }),
  );
  const long = 'x'.repeat(100_000);
  expect(tokensOf(`${long} a-${long}`)).toEqual(
    tokensOf(`${long} a-${long} 猫`).filter((one) => one !== '猫'),
  );
});
