/**
 * Each rule is broken on purpose, and the invariant that the rule protects must report it. The
 * shortest path to the violation is printed: it shows why the rule exists.
 */
import { describe, expect, test } from 'vitest';
import { explore } from './explore.ts';
import { harmless, mutants } from './mutants.ts';
import { commitProtocol } from './protocol.ts';

const timeout = 120_000;

describe('a protocol with one rule broken', () => {
  const named = mutants.map(
    (mutant) => [mutant.breaks, mutant.what, mutant.caughtBy, mutant] as const,
  );

  test.each(named)(
    '%s: that %s is caught by %s',
    { timeout },
    (_rule, _what, _invariant, mutant) => {
      const { violation, states } = explore(commitProtocol(mutant.configuration), 'breadth first');
      const trace = violation?.trace.map((label, index) => `  ${index + 1}. ${label}`).join('\n');
      console.log(`${mutant.what}\n${trace}\n  => ${violation?.invariant}: ${violation?.why}`);
      expect(violation?.invariant).toBe(mutant.caughtBy);

      // the mistake is the cause: the same search without it finds no violation
      const sound = commitProtocol({ ...mutant.configuration, mistake: null });
      expect(explore(sound, 'breadth first', { statesMax: states }).violation).toBeUndefined();
    },
  );
});

test('an append with unknown outcome may be rebuilt under a new id instead of resent', {
  timeout,
}, () => {
  const { violation, complete, states } = explore(commitProtocol(harmless));
  expect(violation).toBeUndefined();
  expect(complete).toBe(true);
  expect(states).toBeGreaterThanOrEqual(4_631);
});
