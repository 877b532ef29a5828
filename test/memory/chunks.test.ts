import { expect, test } from 'vitest';
import { chunksOf, chunksWithin, linesOf } from '../../memory/chunks.ts';

const chunks = (text: string) => [...chunksOf(text)];
const paragraph = (n: number) => `${n} ${'some words of a paragraph '.repeat(8).trim()}.`;

test('a chunk is its lines, each line with text is in one, and none is long', () => {
  const text = Array.from({ length: 200 }, (_, n) => (n % 7 === 3 ? '' : paragraph(n))).join('\n');
  const lines = linesOf(text);
  const covered = new Set<number>();
  for (const { startLine, endLine, text: own } of chunks(text)) {
    expect(own).toBe(lines.slice(startLine - 1, endLine).join('\n'));
    expect(own.length).toBeLessThanOrEqual(1_600);
    for (let line = startLine; line <= endLine; line++) covered.add(line);
  }
  for (const [at, line] of lines.entries()) if (line !== '') expect(covered).toContain(at + 1);
});

test('a long section repeats the last lines of the part before', () => {
  const [first, second] = chunks(Array.from({ length: 20 }, (_, n) => paragraph(n)).join('\n'));
  expect(second!.startLine).toBeLessThanOrEqual(first!.endLine);
  expect(second!.startLine).toBeGreaterThan(first!.startLine);
});

test('a heading begins a chunk, headings above it stay with it, and code has none', () => {
  const text = '# Day\n\n## One\n\nfirst\n\n## Two\n\nsecond\n```sh\n# no heading\n```\n';
  expect(chunks(text)).toMatchObject([
    { startLine: 1, endLine: 5 },
    { startLine: 7, endLine: 12 },
  ]);
});

test('a line that is too long becomes several chunks with its number, without loss', () => {
  const line = '数据库🙂'.repeat(600);
  const found = chunks(`short\n${line}\nshort`).filter(({ startLine }) => startLine === 2);
  expect(found.map(({ text }) => text).join('')).toBe(line);
  expect(found.some(({ text }) => /\p{Surrogate}/u.test(text))).toBe(false);
});

test('the chunks of some lines are those of the whole text there', () => {
  const text = Array.from({ length: 90 }, (_, n) => (n === 40 ? '长'.repeat(900) : paragraph(n)));
  for (const end of ['\n', '\r\n'])
    for (const last of ['', end]) {
      const whole = `${text.join(end)}${last}`;
      for (const one of chunks(whole)) expect(chunksWithin(whole, one)).toContainEqual(one);
    }
  expect(chunksWithin('one', { startLine: 5, endLine: 6 })).toEqual([]);
});

test('empty texts, blank lines and Windows line ends', () => {
  expect(chunks('')).toEqual([]);
  expect(chunks('\n \n\t\n')).toEqual([]);
  expect(chunks('a\r\nb\r\n')).toEqual([{ startLine: 1, endLine: 2, text: 'a\nb' }]);
});
