/** Operations that read the state of an installation: agents, hooks, tasks, audit, cluster. */
import { expect, it } from 'vitest';
import { install } from '../agent-runs/installation.ts';
import { eventually } from '../runtime/eventually.ts';
import { operatorOf } from './operator.ts';

it('lists the agents with their models, and the hooks', async () => {
  const call = await operatorOf(await install({ config: {} }));
  const { defaultAgentId, agents } = await call('agents.list');
  expect(defaultAgentId).toBe('main');
  expect(agents).toMatchObject([{ id: 'main', model: expect.any(String) }]);
  expect(await call('hooks.list')).toEqual({ hooks: [] });
});

it('lists background tasks, and refuses to show or cancel one that does not exist', async () => {
  const call = await operatorOf(await install({ config: {} }));
  expect(await call('tasks.list', { status: 'running' })).toEqual({ tasks: [] });
  for (const name of ['tasks.show', 'tasks.cancel'])
    await expect(call(name, { id: 'none' })).rejects.toThrow('NOT_FOUND');
});

it('shows the audit of a tenant, by action', async () => {
  const call = await operatorOf(await install({ config: {} }));
  await eventually(async () => {
    const { records } = await call('audit', { action: 'connect' });
    expect(records).toMatchObject([{ action: 'connect', outcome: 'done', by: 'token' }]);
  });
  expect(await call('audit', { who: 'another' })).toMatchObject({ records: [] });
});

it('shows every shard of the embedded store', async () => {
  const call = await operatorOf(await install({ config: {} }));
  const { form, nodes, shards, root, alarms } = await call('cluster.show');
  expect({ form, nodes, alarms }).toEqual({ form: 'embedded', nodes: [], alarms: [] });
  expect(root).toMatchObject({ status: 'running' });
  expect(shards.length).toBeGreaterThan(0);
  for (const shard of shards) expect(shard).toMatchObject({ state: 'owned' });
});
