/** What a command prints about its progress, at a terminal and in a pipe. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startProgress } from '../../cli/progress.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const open = (isTTY: boolean) => {
  const stream = {
    isTTY,
    columns: 30,
    printed: '',
    write: (text: string) => (stream.printed += text),
  };
  return { stream, ...startProgress(stream) };
};

/** What a terminal shows: a rewritten line is gone. */
const shown = (printed: string): string =>
  printed
    .split('\n')
    .map((line) => line.split('\r\u001B[2K').at(-1))
    .join('\n');

it('is one rewritten line at a terminal, which is removed at the end', () => {
  const { stream, show, end } = open(true);
  show('shard 1 of 2');
  show('shard 2 of 2');
  expect(shown(stream.printed)).toBe('troupe: shard 2 of 2 (0 s)');
  vi.advanceTimersByTime(3_000);
  expect(shown(stream.printed)).toBe('troupe: shard 2 of 2 (3 s)');
  end();
  expect(shown(stream.printed)).toBe('');
  vi.advanceTimersByTime(60_000);
  expect(shown(stream.printed)).toBe('');
});

// A line that wraps cannot be removed with one control sequence.
it('is never longer than the line of the terminal', () => {
  const { stream, show } = open(true);
  show('a very long name of a file in a folder');
  expect(shown(stream.printed).length).toBeLessThan(30);
});

it('keeps notes as lines', () => {
  const { stream, show, note, end } = open(true);
  show('shard 1 of 2');
  note('NATS does not answer');
  show('shard 2 of 2');
  end();
  expect(shown(stream.printed)).toBe('troupe: NATS does not answer\n');
});

it('is nothing in a pipe for short work, and plain lines at long intervals for long work', () => {
  const { stream, show, end } = open(false);
  show('shard 1 of 2');
  vi.advanceTimersByTime(29_000);
  expect(stream.printed).toBe('');
  show('shard 2 of 2');
  vi.advanceTimersByTime(40_000);
  end();
  expect(stream.printed).toBe('troupe: shard 2 of 2 (30 s)\ntroupe: shard 2 of 2 (60 s)\n');
});
