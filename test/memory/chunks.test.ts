import { expect, test } from 'vitest';
import { chunksOf, chunksWithin, LineBytes, linesOf } from '../../memory/chunks.ts';

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
      for (const one of chunks(whole))
        expect(chunksWithin(whole, one.startLine, one.endLine)).toContain(one.text);
    }
  expect(chunksWithin('one', 5, 6)).toEqual([]);
});

test('the bytes of the lines of each chunk have its text, in every script', () => {
  const text = Array.from({ length: 90 }, (_, n) =>
    ['', '长'.repeat(900), 'đường 🙂', paragraph(n), `# ${n}`].at(n % 5),
  );
  for (const lines of [text, text.map((line) => line!.replaceAll(/[^ -~]/g, '?'))])
    for (const end of ['\n', '\r\n'])
      for (const last of ['', end]) {
        const whole = `${lines.join(end)}${last}`;
        const [starts, ends] = [new LineBytes(whole), new LineBytes(whole)];
        for (const one of chunks(whole)) {
          const [from, to] = [starts.startOf(one.startLine), ends.startOf(one.endLine + 1)];
          const part = Buffer.from(whole).subarray(from, to).toString();
          expect(part.startsWith(linesOf(whole)[one.startLine - 1]!)).toBe(true);
          const count = one.endLine - one.startLine + 1;
          expect(chunksWithin(part, 1, count)).toContain(one.text);
        }
      }
});

test('empty texts, blank lines and Windows line ends', () => {
  expect(chunks('')).toEqual([]);
  expect(chunks('\n \n\t\n')).toEqual([]);
  expect(chunks('a\r\nb\r\n')).toEqual([{ startLine: 1, endLine: 2, text: 'a\nb' }]);
});
