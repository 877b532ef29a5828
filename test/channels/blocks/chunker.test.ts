import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Block, BlockChunker, type BlockOptions } from '../../../channels/blocks/chunker.ts';
import { afterLine, type Fence } from '../../../channels/blocks/fences.ts';

const SMALL = { charactersMin: 20, charactersMax: 40 };

/** Blocks of a text that is streamed in pieces of the given lengths, repeated cyclically. */
const blocksOf = (
  text: string,
  options: Partial<BlockOptions>,
  lengths: readonly number[] = [7],
): Block[] => {
  const chunker = new BlockChunker(options);
  const blocks: Block[] = [];
  for (let at = 0, turn = 0; at < text.length; turn++) {
    const length = lengths[turn % lengths.length]!;
    blocks.push(...chunker.push(text.slice(at, at + length)));
    at += length;
  }
  return [...blocks, ...chunker.end()];
};

const openAtEnd = (text: string): Fence | undefined => {
  let fence: Fence | undefined;
  for (const line of text.split('\n')) fence = afterLine(fence, line);
  return fence;
};

/** Markdown as models write it: prose in several scripts, lists, fenced code, odd characters. */
const words = fc.constantFrom(
  'word ',
  'A sentence ends. ',
  'Câu này kết thúc. ',
  'e\u0323\u0302 ',
  '漢字がある。',
  '👩‍👩‍👧 ',
  '𝒳𝒴 ',
  '`code` ',
  '``` ',
  '~~~',
  '- item\n',
  '\n',
  '\n\n',
  'x'.repeat(30),
);
const fenced = fc
  .tuple(
    fc.constantFrom('```', '````', '~~~'),
    fc.constantFrom('', 'ts', 'python title="a b"'),
    fc.array(fc.constantFrom('let x = 1;\n', '\n', '  indented\n', '// `tick`\n', 'y'.repeat(50))),
  )
  .map(([marks, info, lines]) => `\n${marks}${info}\n${lines.join('')}\n${marks}\n`);
const markdown = fc
  .array(fc.oneof({ weight: 4, arbitrary: words }, { weight: 1, arbitrary: fenced }), {
    maxLength: 60,
  })
  .map((parts) => parts.join(''));
const optionsOf = fc.record({
  breakAt: fc.constantFrom('text_end' as const, 'message_end' as const),
  prefer: fc.constantFrom('paragraph' as const, 'newline' as const, 'sentence' as const),
  charactersMin: fc.integer({ min: 1, max: 60 }),
  charactersMax: fc.integer({ min: 60, max: 120 }),
});
const lengths = fc.array(fc.integer({ min: 1, max: 25 }), { minLength: 1, maxLength: 5 });

describe('blocks', () => {
  test('joined are the complete text, however it is streamed', () => {
    fc.assert(
      fc.property(markdown, optionsOf, lengths, (text, options, pieces) => {
        const blocks = blocksOf(text, options, pieces);
        let at = 0;
        for (const { from, to } of blocks) {
          expect(from).toBe(at);
          expect(to).toBeGreaterThan(from);
          at = to;
        }
        expect(at).toBe(text.length);
      }),
    );
  });

  test('add only the fences that they close and open again', () => {
    fc.assert(
      fc.property(markdown, optionsOf, lengths, (text, options, pieces) => {
        for (const block of blocksOf(text, options, pieces)) {
          const open = openAtEnd(text.slice(0, block.from));
          const said = text.slice(block.from, block.to);
          const left = openAtEnd(text.slice(0, block.to));
          const begin = open === undefined ? '' : `${open.opening}\n`;
          const newline = said.endsWith('\n') ? '' : '\n';
          const end = left === undefined ? '' : `${newline}${left.closing}\n`;
          expect(block.text).toBe(begin + said + end);
        }
      }),
    );
  });

  test('are markdown in which all fences are closed', () => {
    fc.assert(
      fc.property(markdown, optionsOf, lengths, (text, options, pieces) => {
        for (const block of blocksOf(text, options, pieces)) {
          expect(openAtEnd(block.text)).toBeUndefined();
        }
      }),
    );
  });

  test('never split a grapheme', () => {
    const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
    fc.assert(
      fc.property(markdown, optionsOf, lengths, (text, options, pieces) => {
        const starts = new Set([...segmenter.segment(text)].map(({ index }) => index));
        for (const { from } of blocksOf(text, options, pieces)) expect(starts).toContain(from);
      }),
    );
  });

  test('do not depend on the sizes of deltas when they are published at the end', () => {
    fc.assert(
      fc.property(markdown, optionsOf, lengths, (text, options, pieces) => {
        const atEnd = { ...options, breakAt: 'message_end' } as const;
        expect(blocksOf(text, atEnd, pieces)).toEqual(blocksOf(text, atEnd, [1_000]));
      }),
    );
  });

  test('respect their length limits in prose that can be split', () => {
    const prose = fc
      .array(fc.constantFrom('one ', 'two, ', 'three. ', '\n', '\n\n'))
      .map((all) => all.join(''));
    fc.assert(
      fc.property(prose, lengths, (text, pieces) => {
        const blocks = blocksOf(text, SMALL, pieces);
        for (const { from, to } of blocks) expect(to - from).toBeLessThanOrEqual(40);
        for (const { from, to } of blocks.slice(0, -1))
          expect(to - from).toBeGreaterThanOrEqual(20);
      }),
    );
  });
});

const texts = (text: string, options: Partial<BlockOptions> = SMALL) =>
  blocksOf(text, options).map((block) => block.text);

describe('a block ends', () => {
  test('at a paragraph, as soon as it is long enough', () => {
    expect(texts('Twenty characters and more.\n\nThe next one.')).toEqual([
      'Twenty characters and more.\n\n',
      'The next one.',
    ]);
  });

  test('at a line when it is full and has no paragraph, at a sentence when it has no line', () => {
    expect(texts('A first line of it.. \nthen more without any end')).toEqual([
      'A first line of it.. \n',
      'then more without any end',
    ]);
    expect(texts('It begins and ends here. Then it goes on and on')).toEqual([
      'It begins and ends here. ',
      'Then it goes on and on',
    ]);
    expect(texts(`${'漢字'.repeat(12)}。${'仮名'.repeat(12)}`)[0]).toBe(`${'漢字'.repeat(12)}。`);
  });

  test('before code rather than in it, and in it by closing and reopening the fence with its language', () => {
    const code = '```ts\nconst a = 1;\nconst b = 2;\nconst c = 3;\nconst d = 4;\n```\n';
    const blocks = texts(`Some words before the code.\n${code}`);
    expect(blocks[0]).toBe('Some words before the code.\n');
    expect(blocks[1]).toMatch(/^```ts\nconst a = 1;\n[^`]*```\n$/);
    expect(blocks[2]).toMatch(/^```ts\nconst/);
  });

  test('only with the message, if configured so', () => {
    const chunker = new BlockChunker({ ...SMALL, breakAt: 'message_end' });
    expect(chunker.push('Twenty characters and more.\n\nAnd more.')).toEqual([]);
    expect(chunker.end().map(({ text }) => text)).toEqual([
      'Twenty characters and more.\n\nAnd more.',
    ]);
  });

  test('of one long line in linear time', () => {
    for (const line of ['word '.repeat(12_000), ' '.repeat(60_000), 'あ'.repeat(60_000)]) {
      const chunker = new BlockChunker();
      const blocks = [...chunker.push(line), ...chunker.end()];
      expect(blocks.map(({ text }) => text).join('')).toBe(line);
      expect(Math.max(...blocks.map(({ text }) => text.length))).toBeLessThanOrEqual(1_200);
    }
  });
});
