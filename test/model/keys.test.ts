/**
 * How long an idempotency key must be kept (F4): with one unit less, a request is applied twice.
 */
import { describe, expect, test } from 'vitest';
import { explore } from './explore.ts';
import { type KeyRules, keyRetention } from './keys.ts';

const timeout = 60_000;

/**
 * Window 4, life of a copy 1, estimate off by 1, and a clock that may step by 1 counts twice: 8.
 */
const sufficient: KeyRules = {
  retryWindow: 4,
  copyLife: 1,
  estimateError: 1,
  clockError: 1,
  retention: 8,
};

describe('a key', () => {
  test('outlives every copy that is not stale', { timeout }, () => {
    const { violation, complete, states } = explore(keyRetention(sufficient));
    expect(violation).toBeUndefined();
    expect(complete).toBe(true);
    expect(states).toBeGreaterThanOrEqual(101_000);
  });

  test('outlives them with an exact clock and a retention of one copy life more', () => {
    const exact = { ...sufficient, estimateError: 0, clockError: 0, retention: 5 };
    const { violation, complete } = explore(keyRetention(exact));
    expect(violation).toBeUndefined();
    expect(complete).toBe(true);
  });

  test.each<{ what: string; rules: KeyRules }>([
    { what: 'kept one unit less', rules: { ...sufficient, retention: 7 } },
    { what: 'with copies that live nearly as long', rules: { ...sufficient, copyLife: 7 } },
    { what: 'with copies that never become stale', rules: { ...sufficient, copyLife: null } },
  ])('$what is forgotten before a copy arrives', { timeout }, ({ rules }) => {
    const { violation } = explore(keyRetention(rules), 'breadth first');
    console.log(violation?.trace.join('\n'));
    expect(violation?.invariant).toBe('V4');
  });
});
