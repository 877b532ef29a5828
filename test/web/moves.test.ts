/** Moves of shards, as the view Cluster finds them between readings. */
import { expect, test } from 'vitest';
import { lastOwners, movesBetween } from '../../web/operations/views/nodes.tsx';

test('a shard that has no owner for a while moves from its last owner', () => {
  const before = lastOwners(
    [],
    [
      { shard: 0, node: 'two' },
      { shard: 1, node: 'one' },
    ],
  );
  const between = [{ shard: 0 }, { shard: 1, node: 'one' }];
  expect(movesBetween(before, between, 1)).toEqual([]);
  const known = lastOwners(before, between);
  const after = [
    { shard: 0, node: 'one' },
    { shard: 1, node: 'one' },
  ];
  expect(movesBetween(known, after, 2)).toEqual([{ at: 2, shard: 0, from: 'two', to: 'one' }]);
  expect(movesBetween(lastOwners(known, after), after, 3)).toEqual([]);
  expect(movesBetween([], after, 4)).toEqual([]);
});
