/** The explorer itself: a search proves something only if it can fail. */
import { describe, expect, test } from 'vitest';
import { explore, type Model, type Violation } from './explore.ts';

/** A token on a grid, moved right or up to the edge. */
function grid(
  size: number,
  broken: (x: number, y: number) => Violation | undefined,
): Model<number[]> {
  return {
    initial: () => [0, 0],
    identify: String,
    steps: ([x = 0, y = 0]) => [
      ...(x < size ? [{ rule: 'right', label: `${x + 1}`, next: [x + 1, y], progress: true }] : []),
      ...(y < size ? [{ rule: 'up', label: `${y + 1}`, next: [x, y + 1], progress: true }] : []),
    ],
    check: ([x = 0, y = 0]) => broken(x, y),
    checkAtRest: () => undefined,
  };
}

describe('explore', () => {
  test.each(['depth first', 'breadth first'] as const)('%s visits every state once', (order) => {
    const found = explore(
      grid(99, () => undefined),
      order,
    );
    expect(found).toMatchObject({ complete: true, states: 10_000, quiescent: 1 });
    expect(found.transitions).toBe(2 * 99 * 100);
    expect(found.byRule.get('up')).toBe(99 * 100);
  });

  test('breadth first returns a shortest trace to the violation', () => {
    const beyond = (x: number, y: number) =>
      x + y >= 5 && x >= 2 ? { invariant: 'V0', why: 'too far' } : undefined;
    const { violation, complete } = explore(grid(9, beyond), 'breadth first');
    expect(violation?.trace).toHaveLength(5);
    expect(violation?.invariant).toBe('V0');
    expect(complete).toBe(false);
  });

  test('a quiescent state with unfinished work is a violation', () => {
    const undone = {
      ...grid(3, () => undefined),
      checkAtRest: () => ({ invariant: 'V5', why: 'left' }),
    };
    expect(explore(undone).violation?.invariant).toBe('V5');
  });

  test('a search that reaches its limit is reported as incomplete', () => {
    const found = explore(
      grid(99, () => undefined),
      'depth first',
      { statesMax: 100 },
    );
    expect(found).toMatchObject({ complete: false });
    expect(found.violation).toBeUndefined();
  });
});
