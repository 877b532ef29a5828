import { expect, it } from 'vitest';
import { install } from '../agent-runs/installation.ts';
import { operatorOf } from './operator.ts';

const idsOf = ({ runs }: { runs: readonly { runId: string }[] }) => runs.map(({ runId }) => runId);

it('lists the runs of all sessions newest first, with their tokens and durations', async () => {
  const troupe = await install({ config: {} });
  const call = await operatorOf(troupe);
  expect(await call('runs.list')).toEqual({ runs: [] });
  const first = await troupe.run('agent:main:first', 'echo apples');
  const second = await troupe.run('agent:main:second', 'echo pears');
  const [firstId, secondId] = [first.row.runId, second.row.runId];
  const all = await call('runs.list');
  expect(idsOf(all)).toEqual([secondId, firstId]);
  expect(all.runs[0]).toMatchObject({
    sessionKey: 'agent:main:second',
    agentId: 'main',
    status: 'ok',
    durationMs: second.row.endedAt! - second.row.startedAt!,
    inputTokens: second.row.usage!.inputTokens,
    outputTokens: second.row.usage!.outputTokens,
  });
  expect(idsOf(await call('runs.list', { session: 'agent:main:first' }))).toEqual([firstId]);
  expect(idsOf(await call('runs.list', { state: 'ended', agent: 'main' }))).toHaveLength(2);
  expect(idsOf(await call('runs.list', { state: 'open' }))).toEqual([]);
  const page = await call('runs.list', { limit: 1 });
  expect(page).toMatchObject({ runs: [{ runId: secondId }], next: second.row.acceptedAt });
  expect(idsOf(await call('runs.list', { limit: 1, before: page.next }))).toEqual([firstId]);
});
