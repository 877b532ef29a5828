/** `subagents`: a session lists, messages and ends its own subagents. */
import { describe, expect, it } from 'vitest';
import { subagentsTool } from '../../../agent/tools/sessions/subagents.ts';
import {
  type SubagentRow,
  SUBAGENTS_INDEX,
  subagentAddress,
  subagentRowKey,
} from '../../../protocols/subagent.ts';
import { type Stage, stage } from './scripted-session.ts';

const PARENT = 'agent:main:main';
const NOW = Date.parse('2026-03-01T12:00:00Z');

const subagent = (id: string, over: Partial<SubagentRow> = {}): SubagentRow => ({
  id,
  sessionKey: `agent:coder:subagent:${id}`,
  runId: `task-${id}`,
  agentId: 'coder',
  parent: PARENT,
  parentRunId: 'run-1',
  root: PARENT,
  depth: 2,
  status: 'running',
  task: 'count',
  tokens: 50_000,
  createdAt: NOW - 60_000,
  startedAt: NOW - 50_000,
  ...over,
});

async function opened(...rows: readonly SubagentRow[]): Promise<Stage> {
  const open = await stage();
  for (const row of rows)
    await open.row({ index: SUBAGENTS_INDEX, key: subagentRowKey(row.parent, row.id), row });
  return open;
}
const use = (open: Stage, args: object) => open.call(subagentsTool, args);

const ended = subagent('ccc-1', {
  status: 'completed',
  label: 'first',
  startedAt: NOW - 40_000,
  endedAt: NOW - 10_000,
  usage: { inputTokens: 900, outputTokens: 100, costUsd: 0.01 },
  reported: 'followup',
});
const others = subagent('ddd-1', { parent: 'agent:main:other' });

describe('subagents', () => {
  it('lists those of this session, active ones first', async () => {
    const open = await opened(ended, subagent('aaa-1'), others);
    const { said, isError } = await use(open, { action: 'list' });
    expect(isError).toBe(false);
    expect(said).toMatchObject({
      count: 2,
      active: 1,
      subagents: [
        { id: 'aaa-1', status: 'running', duration: 50_000, tokensGranted: 50_000 },
        {
          id: 'ccc-1',
          label: 'first',
          status: 'completed',
          duration: 30_000,
          tokensUsed: 1_000,
          costUsd: 0.01,
          endedAt: '2026-03-01T11:59:50.000Z',
          reported: 'followup',
        },
      ],
    });
    expect(said).not.toHaveProperty('notShown');
  });

  it('shows the newest ones, with the number of omitted ones', async () => {
    const many = Array.from({ length: 53 }, (_, at) =>
      subagent(`n-${at}`, { status: 'failed', createdAt: NOW - at }),
    );
    const open = await opened(...many);
    const { said } = await use(open, { action: 'list' });
    expect(said).toMatchObject({ count: 53, active: 0, notShown: 3 });
    expect((said['subagents'] as { id: string }[]).at(0)?.id).toBe('n-0');
  });

  it('finds one by its id, its key, its label, or a unique prefix', async () => {
    const open = await opened(ended, subagent('aaa-1'), subagent('aaa-2', { label: 'second' }));
    const which = async (id: string) => (await use(open, { action: 'status', id })).said['id'];
    const names = ['ccc-1', 'agent:coder:subagent:aaa-1', 'second', 'cc', 'fir'];
    const found = [];
    for (const name of names) found.push(await which(name));
    expect(found).toEqual(['ccc-1', 'aaa-1', 'aaa-2', 'ccc-1', 'ccc-1']);
    expect(await use(open, { action: 'status', id: 'aaa' })).toMatchObject({
      isError: true,
      said: { status: 'ambiguous', candidates: ['aaa-1', 'aaa-2'] },
    });
  });

  it('excludes those of a session whose key has this session’s key as prefix', async () => {
    const open = await opened(subagent('aaa-1'), subagent('eee-1', { parent: `${PARENT}|x` }));
    expect((await use(open, { action: 'list' })).said).toMatchObject({ count: 1 });
    const steer = { action: 'steer', id: 'eee-1', message: 'work for me' };
    expect((await use(open, steer)).said).toMatchObject({ status: 'not_found' });
  });

  it('prefers the active one among equal labels', async () => {
    const open = await opened(ended, subagent('aaa-1', { label: 'first' }));
    expect((await use(open, { action: 'status', id: 'first' })).said['id']).toBe('aaa-1');
  });

  it('finds no subagent of another session', async () => {
    const open = await opened(others);
    for (const action of ['status', 'steer', 'kill'])
      expect(await use(open, { action, id: 'ddd-1', message: 'stop' })).toMatchObject({
        isError: true,
        said: { status: 'not_found' },
      });
    expect(open.asked()).toEqual([]);
  });

  it('ends one, or all, through its own session', async () => {
    const open = await opened(subagent('aaa-1'));
    await open.script({ result: { killed: ['aaa-1'] } });
    const { said } = await use(open, { action: 'kill', id: 'aaa', reason: 'not needed' });
    expect(said).toEqual({ status: 'ok', killed: ['aaa-1'] });
    await use(open, { action: 'kill', id: 'all' });
    expect(open.asked()).toMatchObject([
      { type: 'session.kill', id: 'aaa-1', reason: 'not needed' },
      { type: 'session.kill' },
    ]);
    expect(open.asked()[1]).not.toHaveProperty('id');
    await open.script({ error: { code: 'CONFLICT', message: 'not now' } as never });
    expect(await use(open, { action: 'kill', id: 'all' })).toMatchObject({
      isError: true,
      said: { status: 'error', error: 'not now' },
    });
  });

  it('sends a message to one, and reports a refusal', async () => {
    const open = await opened(subagent('aaa-1', { label: 'count' }));
    const child = subagentAddress('default', 'aaa-1');
    await open.script({ result: { delivered: true } }, child);
    const steer = { action: 'steer', id: 'count', message: 'only the new ones' };
    expect((await use(open, steer)).said).toEqual({
      status: 'ok',
      id: 'aaa-1',
      label: 'count',
      delivered: true,
    });
    expect(open.asked(child)).toMatchObject([
      { type: 'subagent.steer', text: 'only the new ones' },
    ]);
    await open.script({ error: { code: 'CONFLICT', message: 'it has ended' } as never }, child);
    expect(await use(open, steer)).toMatchObject({ isError: true, said: { status: 'refused' } });
    expect((await use(open, { action: 'steer', id: 'count' })).said['status']).toBe('invalid');
  });

  it('sends nothing to an ended one', async () => {
    const open = await opened(ended);
    for (const action of ['steer', 'kill'])
      expect(await use(open, { action, id: 'ccc-1', message: 'go on' })).toMatchObject({
        isError: true,
        said: { status: 'refused' },
      });
    expect((await use(open, { action: 'kill' })).said['status']).toBe('invalid');
  });

  it('may list repeatedly, and sends and ends under the call’s key', () => {
    const classes = ['list', 'status', 'steer', 'kill'].map((action) =>
      subagentsTool.classOf?.({ action }),
    );
    expect(classes).toEqual(['repeatable', 'repeatable', 'keyed', 'keyed']);
  });
});
