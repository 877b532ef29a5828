import { describe, expect, it } from 'vitest';
import { shippedActions, shippedSpecs } from '../../compose/actions.ts';

const agentsOf = (...sets: Parameters<typeof shippedActions>) => [
  ...new Set(shippedActions(...sets).map(({ agent }) => agent)),
];

describe('the built-in actions', () => {
  it('are those of the configured sets, and include those of the registry in every configuration', () => {
    expect(agentsOf(['conformance'])).toEqual(['conformance', 'registry', 'agents']);
    expect(agentsOf(['factory'])).not.toContain('conformance');
    expect(agentsOf([], 'none')).toEqual(['registry']);
    expect(agentsOf(['conformance', 'factory'])).toEqual(agentsOf());
  });

  it('let operators send messages to agents, every principal, or none', () => {
    const rolesOf = (...args: Parameters<typeof shippedActions>) =>
      shippedActions(...args)
        .filter(({ agent }) => agent === 'agents')
        .map(({ roles }) => roles);
    expect(rolesOf([])).toEqual([['operator']]);
    expect(rolesOf([], 'all')).toEqual([undefined]);
    expect(rolesOf([], 'none')).toEqual([]);
  });

  it('are sorted by name and version', () => {
    const names = shippedSpecs().map((spec) => `${spec.action} ${spec.action_version}`);
    expect(names).toEqual(names.toSorted());
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain('conformance.old_action 1.3.0');
  });
});
