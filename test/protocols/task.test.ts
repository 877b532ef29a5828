import { expect, it } from 'vitest';
import { evidencePrefix, taskIdOf } from '../../protocols/task.ts';

it('the records of a job are never returned for another job, for any ids', () => {
  const ids = ['a', 'a|b', 'a%7Cb', 'a|b|c', 'a%', '%', '|', 'ab'];
  for (const one of ids)
    for (const other of ids)
      expect(evidencePrefix(other).startsWith(evidencePrefix(one))).toBe(one === other);
});

// A stored task is found by this id only.
it('the id of a task is the same in every version', () => {
  const scope = { tenant: 't', action: 'demo.do_thing', subject: 'order-7', key: 'k1' };
  expect(taskIdOf({ ...scope, principal: 'ada' })).toBe('afc41bab-a2df-8a3c-89ab-2ae382c662c2');
});
