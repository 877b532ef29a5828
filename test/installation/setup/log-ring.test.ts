import { expect, test } from 'vitest';
import { LogRing, RING_BYTES_MAX } from '../../../installation/setup/log-ring.ts';

const line = (n: number, more = '') =>
  `${JSON.stringify({ level: 30, time: 0, msg: `line ${n}${more}` })}\n`;
const messages = (lines: readonly string[]) =>
  lines.map((text) => (JSON.parse(text) as { message: string }).message);

test('a cursor continues exactly where the last response ended', () => {
  const ring = new LogRing();
  ring.write(line(1));
  const { cursor } = ring.tail({});
  ring.write(line(2));
  ring.write(line(3));
  expect(messages(ring.tail({ cursor }).lines)).toEqual(['line 2', 'line 3']);
  expect(ring.tail({ cursor })).toMatchObject({ truncated: false, reset: false });
});

test('the newest lines are returned within the requested bounds', () => {
  const ring = new LogRing();
  for (let n = 1; n <= 10; n++) ring.write(line(n));
  expect(messages(ring.tail({ limit: 2 }).lines)).toEqual(['line 9', 'line 10']);
  expect(ring.tail({ limit: 2 }).truncated).toBe(true);
  expect(ring.tail({ maxBytes: 1 }).lines).toEqual([]);
});

test('the oldest lines are dropped, and a reader that missed them is notified', () => {
  const ring = new LogRing();
  ring.write(line(1));
  const { cursor } = ring.tail({});
  const long = 'x'.repeat(10_000);
  for (let n = 2; n <= 300; n++) ring.write(line(n, long));
  const { lines, truncated } = ring.tail({ cursor, limit: 5_000, maxBytes: 10_000_000 });
  expect(truncated).toBe(true);
  expect(lines.join('').length).toBeLessThan(RING_BYTES_MAX + 100_000);
  expect(messages(lines).at(-1)).toMatch(/^line 300/);
});
