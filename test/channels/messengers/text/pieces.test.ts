import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Dialect, FORMATS } from '../../../../channels/messengers/text/dialects.ts';
import { piecesOf } from '../../../../channels/messengers/text/pieces.ts';
import { markdown, soup } from './markdown.ts';
import { READERS, seen } from './readers.ts';

const DIALECTS = Object.keys(FORMATS) as Dialect[];
const LIMIT = 128;

const anyText = fc.array(fc.oneof(markdown, soup), { maxLength: 4 }).map((all) => all.join('\n'));
const dialects = fc.constantFrom(...DIALECTS);

describe('pieces', () => {
  test('are within the limit as Markdown, formatted and plain, and never empty', () => {
    fc.assert(
      fc.property(anyText, dialects, fc.integer({ min: LIMIT, max: 400 }), (text, dialect, max) => {
        for (const { markdown: source, text: written, plain } of piecesOf(text, {
          dialect,
          charactersMax: max,
        })) {
          expect(source.length).toBeLessThanOrEqual(max);
          expect(written.length).toBeLessThanOrEqual(max);
          expect(plain.length).toBeLessThanOrEqual(max);
          expect(written.trim()).not.toBe('');
        }
      }),
      { numRuns: 300 },
    );
  });

  test('are read by each messenger as their plain text', () => {
    fc.assert(
      fc.property(anyText, dialects, (text, dialect) => {
        for (const { text: written, plain } of piecesOf(text, { dialect, charactersMax: LIMIT }))
          expect(seen(READERS[dialect](written))).toBe(seen(plain));
      }),
      { numRuns: 200 },
    );
  });

  test('bug: the marks of a quote were left at the end of a piece, without its text', () => {
    const quote = '> > ****[label](https://example.com/x_y)********word****';
    const code = '```not a language!\nlet x = <T>1 && 2;\n```\n\n';
    const pieces = piecesOf(code + quote, { dialect: 'telegram-html', charactersMax: 160 });
    expect(pieces.map((one) => one.markdown)).toEqual([code, quote]);
  });

  test('lose nothing but white space, empty lines of quotes and lines of fences', () => {
    const isFence = (line: string) => /^[\s>]*(?:`{3,}|~{3,})/.test(line);
    // Marks of a quote without text are white space of the quote.
    const isBlank = (line: string) => /^[\s>]*$/.test(line);
    const words = (text: string) =>
      text
        .split('\n')
        .filter((line) => !isFence(line) && !isBlank(line))
        .join('')
        // A back-slash keeps the rest of a line from being a list.
        .replaceAll(/[\s\\]/g, '');
    fc.assert(
      fc.property(markdown, dialects, (text, dialect) => {
        fc.pre(text.split('\n').every((line) => !isFence(line) || line.length < 40));
        const pieces = piecesOf(text, { dialect, charactersMax: 160 });
        expect(words(pieces.map((one) => one.markdown).join('\n'))).toBe(words(text));
      }),
      { numRuns: 300 },
    );
  });

  test('leave out code and quotes without text', () => {
    expect(piecesOf('> ```\n> \n> ```', { dialect: 'discord', charactersMax: LIMIT })).toEqual([]);
  });

  test('may be only the first ones', () => {
    const text = 'One sentence. '.repeat(100);
    const options = { dialect: 'discord', charactersMax: LIMIT } as const;
    const all = piecesOf(text, options);
    expect(all.length).toBeGreaterThan(3);
    expect(piecesOf(text, { ...options, piecesMax: 2 })).toEqual(all.slice(0, 2));
  });

  test('never split a surrogate pair', () => {
    const text = `${'x'.repeat(100)}${'𝒳'.repeat(400)}`;
    const pieces = piecesOf(text, { dialect: 'plain', charactersMax: 129 });
    expect(pieces.map((one) => one.plain).join('')).toBe(text);
    for (const { plain } of pieces) expect(plain).not.toMatch(/\p{Surrogate}/u);
  });

  test('close fenced code that is cut, and open it again with its language', () => {
    const lines = Array.from({ length: 40 }, (_, at) => `let x${at} = ${at};`).join('\n');
    const pieces = piecesOf(`Code:\n\n\`\`\`ts\n${lines}\n\`\`\`\n\nEnd.`, {
      dialect: 'telegram-html',
      charactersMax: 200,
    });
    expect(pieces.length).toBeGreaterThan(2);
    for (const { text } of pieces.slice(1, -1))
      expect(text).toMatch(/^<pre><code class="language-ts">let .*;<\/code><\/pre>$/s);
    const code = pieces.flatMap((one) => one.plain.match(/let x\d+ = \d+;/g) ?? []);
    expect(code.join('\n')).toBe(lines);
  });

  test('end where a reader pauses', () => {
    const [first, second] = piecesOf(`${'One. '.repeat(20).trim()}\n\n${'Two. '.repeat(20)}`, {
      dialect: 'plain',
      charactersMax: 160,
    });
    expect(first!.plain).toBe('One. '.repeat(20).trim());
    expect(second!.plain).toBe('Two. '.repeat(20).trim());
  });

  test('continue a list whose items are indented as a list, not as code', () => {
    const list = `- a\n    - ${'b '.repeat(50)}\n    - ${'c '.repeat(50)}`;
    for (const { text } of piecesOf(list, { dialect: 'telegram-html', charactersMax: 130 }))
      expect(text).not.toContain('<pre>');
  });

  test.each(['- 5 apples', '# 1', '> 3', '1. is', '---'])(
    'continue a line with the text "%s" as text',
    (rest) => {
      const text = `${'word '.repeat(30)}${rest}`;
      const pieces = piecesOf(text, { dialect: 'plain', charactersMax: 150 });
      expect(pieces.map(({ plain }) => plain)).toEqual([text.slice(0, 149), rest]);
    },
  );

  test('of long texts of any characters are complete', () => {
    const patterns = [
      '*',
      '[a](',
      '`a` ',
      '> ',
      '- ',
      '| a ',
      '&',
      '<',
      '\n',
      ' ',
      '_a_',
      '𝒳',
      'word. ',
    ];
    for (const pattern of patterns) {
      const text = pattern.repeat(Math.ceil(40_000 / pattern.length));
      const pieces = piecesOf(text, { dialect: 'telegram-html', charactersMax: 4_000 });
      const source = pieces.map((one) => one.markdown).join('');
      // Not `toBe`, which would print megabytes.
      const words = (all: string) => all.replaceAll(/[\s\\]/g, '');
      expect(words(source) === words(text), `${pattern} is complete`).toBe(true);
    }
    expect(piecesOf('`'.repeat(500_000), { dialect: 'discord', charactersMax: 2_000 })).toEqual([]);
  });
});
