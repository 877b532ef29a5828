import { expect, it } from 'vitest';
import { evidencePrefix } from '../../protocols/task.ts';

it('the records of a job are never returned for another job, for any ids', () => {
  const ids = ['a', 'a|b', 'a%7Cb', 'a|b|c', 'a%', '%', '|', 'ab'];
  for (const one of ids)
    for (const other of ids)
      expect(evidencePrefix(other).startsWith(evidencePrefix(one))).toBe(one === other);
});
