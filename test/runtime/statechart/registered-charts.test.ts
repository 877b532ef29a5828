/** Charts of registered types: those that ship, and those of a user's own. */
import { expect, it } from 'vitest';
import { createMachine } from 'xstate';
import { shippedActors } from '../../../actors/index.ts';
import { createRegistry } from '../../../runtime/actor/registry.ts';
import { registeredCharts } from '../../../runtime/statechart/picture/registered-charts.ts';
import { order } from '../../../examples/order/order.ts';

it('lists every type, and shows a shipped one with drawings of each depth', async () => {
  const charts = registeredCharts(createRegistry(shippedActors()));
  expect(charts.list().map(({ type }) => type)).toContain('session');
  const session = await charts.get('session');
  expect(session?.levels.map(({ depth }) => depth)).toEqual([1, 2, 3, 4]);
  expect(session).not.toHaveProperty('definition');
  expect(await charts.get('nothing')).toBeUndefined();
  expect(await charts.get('session', { version: 1_000 })).toBeUndefined();
});

it('lays a type of a user’s own out once, while this thread continues', async () => {
  const charts = registeredCharts(createRegistry([order]));
  let ticks = 0;
  const ticking = setInterval(() => ticks++, 1);
  const [first, second] = await Promise.all([charts.get('order'), charts.get('order')]);
  clearInterval(ticking);
  expect(first?.levels).toHaveLength(1);
  expect(second?.levels).toBe(first?.levels);
  expect(ticks).toBeGreaterThan(0);
});

it('gives the configuration without functions on request', async () => {
  const charts = registeredCharts(createRegistry(shippedActors()));
  const { definition } = (await charts.get('counter', { definition: true }))!;
  expect(JSON.stringify(definition)).not.toContain('=>');
  expect(createMachine(definition as never).id).toBe('counter');
});
