import { describe, expect, test } from 'vitest';
import { wrapComments } from '../../tools/wrap-comments.mjs';

const words = (count: number) => Array<string>(count).fill('word').join(' ');

describe('wrapping of comments', () => {
  test('a long line flows into the next line of its paragraph', () => {
    const wrapped = wrapComments(`// ${words(21)}\n// and on`);
    expect(wrapped).toBe(`// ${words(19)}\n// word word and on`);
  });

  test('a long one-line block becomes a block of several lines', () => {
    expect(wrapComments(`  /** ${words(20)} */`)).toBe(
      `  /**\n   * ${words(18)} word\n   * word\n   */`,
    );
  });

  test('a list item keeps its indentation and does not swallow the next item', () => {
    const wrapped = wrapComments(` *  - ${words(20)}\n *  - next`);
    expect(wrapped).toBe(` *  - ${words(19)}\n *    word\n *  - next`);
  });

  test('code, addresses and lines that fit stay as they are', () => {
    const text = `const a = '${words(30)}';\n// https://example.org/${'x'.repeat(100)}\n// fits`;
    expect(wrapComments(text)).toBe(text);
  });

  test('wrapping twice changes nothing more', () => {
    const once = wrapComments(`/** ${words(50)} */\n// ${words(30)}\n// ${words(30)}`);
    expect(wrapComments(once)).toBe(once);
  });
});
