/** `sessions_list` over rows in a store: its content, its bounds, and the rights of callers. */
import { describe, expect, it } from 'vitest';
import { sessionsListTool } from '../../../agent/tools/sessions/sessions-list.ts';
import type { ToolContext } from '../../../agent/tools/tool.ts';
import { OPEN_TALK } from '../../servers/talk-rules.ts';
import { NOW, runOf, sessionRow, type StoredSessions, storedSessions } from './stored-sessions.ts';

type Listed = { sessionKey: string; messages?: { content: string }[]; [field: string]: unknown };
type Answer = { count: number; more?: number; sessions: Listed[] };

const list = async (
  stored: StoredSessions,
  args: object = {},
  changes: Partial<ToolContext> = {},
): Promise<Answer> => {
  const { text, isError } = await sessionsListTool.run(args, stored.context(changes));
  expect(isError).toBeUndefined();
  return JSON.parse(text) as Answer;
};
const keys = ({ sessions }: Answer) => sessions.map(({ sessionKey }) => sessionKey);

const ROWS = [
  sessionRow('agent:main:main', 40),
  sessionRow('agent:main:telegram:dm:alice', 5, { label: 'Alice' }),
  sessionRow('agent:main:slack:group:dev', 100, { status: 'running' }),
  sessionRow('agent:main:cron:daily', 60),
  sessionRow('agent:main:hook:mail', 61),
  sessionRow('agent:main:node:phone', 62),
  sessionRow('agent:main:subagent:0190aaaa-1', 1, { spawnedBy: 'agent:main:main' }),
  sessionRow('agent:work:main', 2, { label: 'Work' }),
];
async function withRows(): Promise<StoredSessions> {
  const stored = storedSessions();
  await stored.sessions(...ROWS);
  return stored;
}

describe('sessions_list', () => {
  it('shows a session with all known fields in a fixed order', async () => {
    const stored = storedSessions();
    const dm = 'agent:main:telegram:dm:alice';
    const more = { model: 'offline/x', contextTokens: 900, channel: 'webchat', label: 'Alice' };
    await stored.sessions(
      sessionRow(dm, 1, { ...more, spawnedBy: 'agent:main:main' }),
      sessionRow('agent:main:slack:dm:bob', 2, { lastMessage: undefined }),
    );
    const { sessions } = await list(stored);
    expect(Object.entries(sessions[0]!)).toEqual([
      ['sessionKey', dm],
      ['agentId', 'main'],
      ['kind', 'other'],
      ['channel', 'webchat'],
      ['label', 'Alice'],
      ['displayName', 'Alice'],
      ['updatedAt', '2026-03-01T11:59:00.000Z'],
      ['status', 'idle'],
      ['model', 'offline/x'],
      ['contextTokens', 900],
      ['totalTokens', 1_200],
      ['spawnedBy', 'agent:main:main'],
      ['lastMessage', `words of ${dm}`],
    ]);
    expect(sessions[1]).toEqual({
      sessionKey: 'agent:main:slack:dm:bob',
      agentId: 'main',
      kind: 'other',
      channel: 'slack',
      displayName: 'main with bob',
      updatedAt: '2026-03-01T11:58:00.000Z',
      status: 'idle',
      totalTokens: 1_200,
    });
  });

  it('lists newest first, with the number of sessions beyond the limit', async () => {
    const stored = await withRows();
    const answer = await list(stored, { limit: 2 });
    expect(keys(answer)).toEqual([
      'agent:main:subagent:0190aaaa-1',
      'agent:main:telegram:dm:alice',
    ]);
    expect(answer).toMatchObject({ count: 2, more: 5 });
    expect(await list(stored)).toMatchObject({ count: 7 });
    expect(await list(stored)).not.toHaveProperty('more');
  });

  it('filters by kind, by activity, by label and by parts of keys and labels', async () => {
    const stored = await withRows();
    const found = async (args: object) => keys(await list(stored, args));
    expect(await found({ kinds: ['main'] })).toEqual(['agent:main:main']);
    expect(await found({ kinds: ['cron', 'hook', 'node'] })).toHaveLength(3);
    expect(await found({ kinds: ['group'] })).toEqual(['agent:main:slack:group:dev']);
    const active = [
      'agent:main:subagent:0190aaaa-1',
      'agent:main:telegram:dm:alice',
      'agent:main:slack:group:dev',
    ];
    expect(await found({ filter: 'active' })).toEqual(active);
    expect(await found({ filter: 'idle' })).toHaveLength(4);
    expect(await found({ activeMinutes: 2 })).toEqual([active[0], active[2]]);
    expect(await found({ filter: 'all', activeMinutes: 2 })).toHaveLength(7);
    expect(await found({ label: 'Al' })).toEqual(['agent:main:telegram:dm:alice']);
    expect(await found({ search: 'ALICE' })).toEqual(['agent:main:telegram:dm:alice']);
    expect(await found({ search: 'no-such-session' })).toEqual([]);
  });

  it('shows sessions of other agents, and their messages, only as far as policy allows', async () => {
    const stored = await withRows();
    const seen = async (talk: Partial<typeof OPEN_TALK>) =>
      (await list(stored, {}, { talk: { ...OPEN_TALK, ...talk } })).sessions.find(
        ({ agentId }) => agentId === 'work',
      );
    expect(await seen({ enabled: false })).toBeUndefined();
    const closed = await seen({});
    expect(closed).toMatchObject({ sessionKey: 'agent:work:main', label: 'Work' });
    expect(closed).not.toHaveProperty('lastMessage');
    const summary = { work: { historyAccess: { main: 'summary' } } } as const;
    expect(await seen({ agents: summary })).toHaveProperty('lastMessage');
  });

  it('shows a sandboxed session only itself and what it spawned, and counts nothing else', async () => {
    const stored = await withRows();
    const confinement = { sandboxed: true, workspaceAccess: 'none' } as const;
    const answer = await list(stored, {}, { confinement, talk: OPEN_TALK });
    expect(keys(answer)).toEqual(['agent:main:subagent:0190aaaa-1', 'agent:main:main']);
    expect(answer.count).toBe(2);
  });

  it('adds the last messages, without tool results, when the history may be read', async () => {
    const stored = await withRows();
    await stored.say('agent:main:main', [...runOf('r1', 50, ['read']), ...runOf('r2', 40)]);
    await stored.say('agent:work:main', runOf('w1', 2));
    const talk = { ...OPEN_TALK, agents: { work: { historyAccess: { '*': 'summary' } } } } as const;
    const { sessions } = await list(stored, { includeTranscript: true }, { talk });
    const of = (key: string) => sessions.find(({ sessionKey }) => sessionKey === key);
    expect(of('agent:main:main')?.messages?.map(({ content }) => content)).toEqual([
      'question of r1',
      'answer of r1',
      'question of r2',
      'answer of r2',
    ]);
    expect(of('agent:work:main')).not.toHaveProperty('messages');
    const last = await list(stored, { messageLimit: 1, kinds: ['main'] });
    expect(last.sessions[0]?.messages?.map(({ content }) => content)).toEqual(['answer of r2']);
  });

  it('returns valid JSON of at most 80 KiB, however many sessions exist', async () => {
    const stored = storedSessions();
    const lastMessage = '€'.repeat(120);
    await stored.sessions(
      ...Array.from({ length: 200 }, (_, n) =>
        sessionRow(`agent:main:telegram:dm:${'p'.repeat(100)}${n}`, n, { lastMessage }),
      ),
    );
    const { text } = await sessionsListTool.run({ limit: 200 }, stored.context());
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(80 * 1_024);
    const { count, more, sessions } = JSON.parse(text) as Answer;
    expect(count).toBe(sessions.length);
    expect(count + more!).toBe(200);
    expect(count).toBeGreaterThan(50);
  });

  it('finds the newest of ten thousand', async () => {
    const stored = storedSessions();
    const rows = Array.from({ length: 10_000 }, (_, n) =>
      sessionRow(`agent:a${n % 7}:telegram:dm:p${n}`, (n * 7_919) % 10_000),
    );
    await stored.sessions(...rows);
    const who = { agentId: 'a3', sessionKey: 'agent:a3:main' };
    const own = await list(stored, { limit: 3 }, who);
    const newest = rows
      .filter(({ agentId }) => agentId === 'a3')
      .toSorted((a, b) => b.updatedAt - a.updatedAt);
    expect(keys(own)).toEqual(newest.slice(0, 3).map(({ sessionKey }) => sessionKey));
    expect(own.count + own.more!).toBe(newest.length);
    const all = await list(stored, { limit: 200 }, { ...who, talk: OPEN_TALK });
    expect(all.count + all.more!).toBe(10_000);
    expect(all.sessions[0]?.['updatedAt']).toBe(new Date(NOW).toISOString());
  });
});
