/** Subagents of a real session on a real store, with the offline model. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { sessionAddress } from '../../../actors/index.ts';
import {
  type RunEvent,
  runEventsTopic,
  type RunRow,
  type SessionRow,
} from '../../../protocols/session.ts';
import { subagentAddress } from '../../../protocols/subagent.ts';
import type { System } from '../../../runtime/index.ts';
import { dataFolder, openRealSystem } from '../../channels/gateway/real-system.ts';
import { eventually } from '../../runtime/eventually.ts';
import { holdParent, MAIN, parentOf, PERSON } from './parent.ts';

const childOf = (id: string) => `agent:main:subagent:${id}`;

const open = async (path: string): Promise<System> => {
  const system = await openRealSystem(path, 0);
  onTestFinished(() => system.stop());
  return system;
};
const folder = (): string => {
  const { path, remove } = dataFolder();
  onTestFinished(remove);
  return path;
};
const eventsOf = (system: System): readonly RunEvent[] => {
  const events: RunEvent[] = [];
  system.bus.subscribe(runEventsTopic('default', MAIN), ({ payload }) => {
    const event = payload as RunEvent;
    if (event.stream === 'subagent') events.push(event);
  });
  return events;
};
const tell = (system: System, id: string, event: { type: string; [field: string]: unknown }) =>
  system.ask(subagentAddress('default', id), event, { principal: PERSON, timeoutMs: 20_000 });
const runRow = (system: System, id: string) =>
  system.index.get<RunRow>('runs', 'default', `sub-${id}`);

describe('a subagent of a running session', () => {
  it('does its task in its own session, and its end reaches its parent once', async () => {
    const system = await open(folder());
    const parent = await holdParent(system);
    const events = eventsOf(system);
    expect(await parent.spawn('a', '[[words:5]] say five words')).toMatchObject({
      status: 'accepted',
      runId: 'sub-a',
      childSessionKey: childOf('a'),
      queued: false,
    });
    const row = await parent.rowWith('a', { status: 'completed', reported: 'steer' });
    expect(row).toMatchObject({ parent: MAIN, root: MAIN, depth: 2, parentRunId: 'parent-run' });
    expect(row.usage!.outputTokens).toBeGreaterThan(0);
    expect(row.until).toBeUndefined();
    expect(runRow(system, 'a')!.text!.split(' ')).toHaveLength(5);
    await eventually(() => expect(events.map(phaseOf)).toEqual(['start', 'end']));
    expect(events.every(({ runId }) => runId === 'parent-run')).toBe(true);
    expect(system.index.get<SessionRow>('sessions', 'default', childOf('a'))).toMatchObject({
      spawnedBy: MAIN,
    });
  });

  it('reports why it failed', async () => {
    const system = await open(folder());
    const parent = await holdParent(system);
    const events = eventsOf(system);
    await parent.spawn('a', '[[fail:INVALID_ARGUMENT]] try');
    const { reason } = await parent.rowWith('a', { status: 'failed', reported: 'steer' });
    expect(reason).toBe(runRow(system, 'a')!.error!.message);
    await eventually(() => expect(events.map(phaseOf)).toEqual(['start', 'error']));
    expect(events[1]).toMatchObject({ outcome: 'error', errorMessage: reason });
  });

  it('ends at its time limit, with its run', async () => {
    const system = await open(folder());
    const parent = await holdParent(system);
    await parent.spawn('a', '[[stall:1]] think forever', { timeoutMs: 300 });
    await parent.rowWith('a', { status: 'timedOut', reported: 'steer' });
    await eventually(() => expect(runRow(system, 'a')?.endedAt).toBeDefined());
  });

  it('is killed at once, with its run; a second kill changes nothing', async () => {
    const system = await open(folder());
    const parent = await holdParent(system);
    await parent.spawn('a', '[[stall:1]] think forever');
    await parent.rowWith('a', { status: 'running' });
    const kill = { type: 'subagent.kill', reason: 'not needed any more' };
    expect(await tell(system, 'a', kill)).toMatchObject({ result: { killed: ['a'] } });
    const row = await parent.rowWith('a', { status: 'killed', reported: 'steer' });
    expect(row.reason).toBe('not needed any more');
    expect(runRow(system, 'a')!.status).toBe('aborted');
    expect(await tell(system, 'a', kill)).toMatchObject({ result: { killed: [] } });
  });

  it('waits for a slot, and uses the next free one', async () => {
    const system = await open(folder());
    const parent = await holdParent(system);
    const one = { concurrentMax: 1 };
    await parent.spawn('a', '[[stall:1]] think forever', one);
    await parent.rowWith('a', { status: 'running' });
    expect(await parent.spawn('b', '[[words:2]] say two', one)).toMatchObject({ queued: true });
    await parent.rowWith('b', { status: 'reserved' });
    expect(await tell(system, 'b', { type: 'subagent.steer', text: 'hurry' })).toMatchObject({
      error: { code: 'CONFLICT', details: { state: 'reserved' } },
    });
    await tell(system, 'a', { type: 'subagent.kill', reason: 'enough' });
    await parent.rowWith('b', { status: 'completed' });
  });

  it('receives a message while it runs', async () => {
    const system = await open(folder());
    const parent = await holdParent(system);
    await parent.spawn('a', '[[stall:1]] think forever');
    await parent.rowWith('a', { status: 'running' });
    await eventually(() => expect(runRow(system, 'a')?.status).toBe('running'));
    const answer = await tell(system, 'a', { type: 'subagent.steer', text: 'look here, too' });
    expect(answer).toMatchObject({ result: { delivered: true } });
    await eventually(() =>
      expect(system.index.get<RunRow>('runs', 'default', 'steer-a-1')?.sessionKey).toBe(
        childOf('a'),
      ),
    );
  });

  it('continues in another process after a restart', async () => {
    const path = folder();
    const first = await openRealSystem(path, 0);
    const before = await holdParent(first);
    await before.spawn('a', '[[stall:1]] think forever');
    await before.rowWith('a', { status: 'running' });
    await first.stop();
    const second = await open(path);
    const parent = parentOf(second);
    expect(parent.row('a')?.status).toBe('running');
    await tell(second, 'a', { type: 'subagent.kill', reason: 'enough' });
    await parent.rowWith('a', { status: 'killed', reported: 'steer' });
  });

  it('does not exist without a reservation', async () => {
    const system = await open(folder());
    expect(await tell(system, 'x', { type: 'subagent.kill', reason: 'no' })).toMatchObject({
      error: { code: 'NOT_FOUND' },
    });
    const session = sessionAddress('default', childOf('x'));
    expect(await system.transcripts.read(session)).toEqual([]);
  });
});

const phaseOf = (event: RunEvent): string => ('phase' in event ? event.phase : '');
