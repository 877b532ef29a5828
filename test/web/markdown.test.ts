import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseInline, parseMarkdown } from '../../web/chat/markdown.ts';

const paragraph = (text: string) => ({ type: 'paragraph', lines: [[{ type: 'text', text }]] });

describe('Markdown', () => {
  test('parses fences, also an incomplete one', () => {
    expect(parseMarkdown('See:\n```ts\nconst a = 1;\n\n# b\n```\nDone.')).toEqual([
      paragraph('See:'),
      { type: 'code', language: 'ts', text: 'const a = 1;\n\n# b' },
      paragraph('Done.'),
    ]);
    expect(parseMarkdown('```\nhalf')).toEqual([{ type: 'code', language: '', text: 'half' }]);
    expect(parseMarkdown('````\n```\ninner\n```\n````')).toEqual([
      { type: 'code', language: '', text: '```\ninner\n```' },
    ]);
  });

  test('parses headings, lists and paragraphs of several lines', () => {
    expect(parseMarkdown('# Title\none\ntwo\n\n- a\n- b\n3. c\n4. d')).toMatchObject([
      { type: 'heading' },
      { type: 'paragraph', lines: [[{ text: 'one' }], [{ text: 'two' }]] },
      { type: 'list', ordered: false, items: [[{ text: 'a' }], [{ text: 'b' }]] },
      { type: 'list', ordered: true, start: 3, items: [[{ text: 'c' }], [{ text: 'd' }]] },
    ]);
  });

  test('parses code, bold and links in a line', () => {
    expect(parseInline('a `b` **c** [d](https://e.f/g) https://h.i/j.')).toEqual([
      { type: 'text', text: 'a ' },
      { type: 'code', text: 'b' },
      { type: 'text', text: ' ' },
      { type: 'strong', text: 'c' },
      { type: 'text', text: ' ' },
      { type: 'link', text: 'd', href: 'https://e.f/g' },
      { type: 'text', text: ' ' },
      { type: 'link', text: 'https://h.i/j', href: 'https://h.i/j' },
      { type: 'text', text: '.' },
    ]);
  });

  test('makes a link of http and https only', () => {
    for (const href of ['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', '//x.y']) {
      expect(parseInline(`[x](${href})`)).toEqual([{ type: 'text', text: `[x](${href})` }]);
    }
  });

  test('leaves out no word of any text', () => {
    const marks = fc.constantFrom(
      '```',
      '`',
      '**',
      '# ',
      '- ',
      '1. ',
      '[a](http://b.c)',
      '\n',
      ' ',
      'w',
    );
    fc.assert(
      fc.property(
        fc.array(fc.oneof(marks, fc.string({ maxLength: 5 })), { maxLength: 30 }),
        (parts) => {
          const text = parts.map((part, at) => (part === 'w' ? `w${at}w` : part)).join('');
          const shown = JSON.stringify(parseMarkdown(text));
          // A word right after the mark of a fence is its language; inside of a fence it is text.
          for (const word of text.match(/(?<=[\s])w\d+w(?=[\s])/g) ?? [])
            expect(shown).toContain(word);
        },
      ),
    );
  });

  test('is fast on an adversarial text', () => {
    for (const text of [
      '`'.repeat(20_000),
      '**a'.repeat(7_000),
      '[a]('.repeat(5_000),
      '- '.repeat(10_000),
    ]) {
      expect(parseMarkdown(text).length).toBeGreaterThan(0);
    }
  });
});
