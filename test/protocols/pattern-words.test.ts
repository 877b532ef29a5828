import { expect, it } from 'vitest';
import { patternInWords } from '../../protocols/pattern-words.ts';

it.each([
  [
    '^[a-z0-9][a-z0-9_-]{0,62}$',
    '1 to 63 characters of lower-case letters, digits, _ and -, the first one of lower-case letters and digits',
  ],
  ['^[A-Za-z0-9_-]{1,64}$', '1 to 64 characters of letters, digits, _ and -'],
  [
    '^(?!default$)[a-z][a-z0-9]{0,2}$',
    '1 to 3 characters of lower-case letters and digits, the first one of lower-case letters, and not default',
  ],
  [
    '^[a-z0-9]+([_-][a-z0-9]+)*$',
    'lower-case letters and digits, with a single one of _ and - inside',
  ],
  ['^https?://[^\\s/]+', undefined],
  ['^[a-z]+$', undefined],
])('%s is in words: %s', (pattern, words) => {
  expect(patternInWords(pattern)).toBe(words);
});
