import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Block } from '../../../channels/blocks/chunker.ts';
import { Coalescer } from '../../../channels/blocks/coalescer.ts';

const OPTIONS = { charactersMin: 20, charactersMax: 30, idleMs: 1_000 };

/** Blocks of the given texts, in sequence. */
const blocks = (...texts: string[]): Block[] => {
  let at = 0;
  return texts.map((text) => ({ text, from: at, to: (at += text.length) }));
};
const textsOf = (published: readonly Block[]) => published.map(({ text }) => text);

describe('small blocks', () => {
  test('are held until their joined length suffices', () => {
    const coalescer = new Coalescer(OPTIONS);
    const [a, b, c] = blocks('ten chars ', 'five ', 'and more ') as [Block, Block, Block];
    expect(coalescer.add([a, b], 0)).toEqual([]);
    expect(coalescer.add([c], 100)).toEqual([
      { text: 'ten chars five and more ', from: 0, to: 24 },
    ]);
    expect(coalescer.dueAt).toBeUndefined();
  });

  test('are published after an idle time, counted from the last one', () => {
    const coalescer = new Coalescer(OPTIONS);
    const [a, b] = blocks('one ', 'two') as [Block, Block];
    coalescer.add([a], 0);
    coalescer.add([b], 900);
    expect(coalescer.due(1_500)).toEqual([]);
    expect(coalescer.dueAt).toBe(1_900);
    expect(textsOf(coalescer.due(1_900))).toEqual(['one two']);
    expect(coalescer.due(9_999)).toEqual([]);
  });

  test('pass at once if coalescing is off', () => {
    const coalescer = new Coalescer({ idleMs: 0 });
    expect(textsOf(coalescer.add(blocks('a', 'b'), 0))).toEqual(['a', 'b']);
  });
});

test('no block is lost or reordered, and none exceeds the limit', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ minLength: 1, maxLength: 40 })), (texts) => {
      const coalescer = new Coalescer(OPTIONS);
      const published = blocks(...texts).flatMap((block, at) => [
        ...coalescer.due(at * 400),
        ...coalescer.add([block], at * 400),
      ]);
      published.push(...coalescer.end());
      expect(textsOf(published).join('')).toBe(texts.join(''));
      for (const { text } of published) {
        if (!texts.includes(text)) expect(text.length).toBeLessThanOrEqual(OPTIONS.charactersMax);
      }
    }),
  );
});
