import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { logTo } from '../../installation/process-log.ts';
import { readableLine } from '../../installation/readable-log.ts';

const plain = new PassThrough();

/** The readable form of what a log writes. */
function readable(write: (log: ReturnType<typeof logTo>) => void): string {
  let text = '';
  write(logTo('trace', { write: (line) => (text += readableLine(line, plain)) }));
  return text;
}

describe('a line of the log for people', () => {
  it('shows time, level, message and facts', () => {
    expect(readable((log) => log.info({ port: 1, who: 'a b' }, 'gateway: listening'))).toMatch(
      /^\d\d:\d\d:\d\d INFO  gateway: listening  port=1 who=a b\n$/,
    );
    expect(readable((log) => log.warn('careful'))).toMatch(/ WARN  careful\n$/);
  });

  it('shows the stack of an error, line by line', () => {
    const text = readable((log) => log.error(new TypeError('broken')));
    expect(text).toMatch(/ERROR broken\n  TypeError: broken\n  +at /);
  });

  it('lets no text control the terminal', () => {
    const text = readable((log) => log.info({ from: 'x\u001b[2J' }, 'a\u001b[31mb\nc'));
    expect(text).not.toContain('\u001b');
    expect(text.split('\n')).toHaveLength(2);
  });

  it('leaves what is no line of a log', () => {
    expect(readableLine('plain text\n', plain)).toBe('plain text\n');
    expect(readableLine('{"a":1}\n', plain)).toBe('{"a":1}\n');
  });
});
