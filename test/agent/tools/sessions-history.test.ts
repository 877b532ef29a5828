/**
 * `sessions_history` over transcripts in a store: its content, its bounds, and the rights of
 * callers.
 */
import { describe, expect, it } from 'vitest';
import { sessionsHistoryTool } from '../../../agent/tools/sessions/sessions-history.ts';
import type { ToolContext } from '../../../agent/tools/tool.ts';
import type { SessionEntry } from '../../../protocols/session.ts';
import { OPEN_TALK } from '../../servers/talk-rules.ts';
import { NOW, runOf, sessionRow, type StoredSessions, storedSessions } from './stored-sessions.ts';

const MAIN = 'agent:main:main';
const WORK = 'agent:work:main';

type Message = { role: string; content: string; [field: string]: unknown };
type Answer = { messages: Message[]; [field: string]: unknown };

const read = async (
  stored: StoredSessions,
  args: object,
  changes: Partial<ToolContext> = {},
): Promise<Answer> =>
  JSON.parse((await sessionsHistoryTool.run(args, stored.context(changes))).text) as Answer;
const contents = ({ messages }: Answer) => messages.map(({ content }) => content);

async function withTalk(): Promise<StoredSessions> {
  const stored = storedSessions();
  await stored.sessions(sessionRow(MAIN, 1), sessionRow(WORK, 2, { label: 'Work' }));
  await stored.say(MAIN, [...runOf('r1', 60, ['read', 'exec']), ...runOf('r2', 30)]);
  await stored.say(WORK, runOf('w1', 20, ['read']));
  return stored;
}

describe('sessions_history', () => {
  it('contains messages and tool results, but no data of models', async () => {
    const stored = await withTalk();
    const answer = await read(stored, { sessionKey: MAIN });
    const timestamp = '2026-03-01T11:00:00.000Z';
    expect(answer.messages.slice(0, 5)).toEqual([
      { role: 'user', content: 'question of r1', timestamp },
      { role: 'assistant', content: '', timestamp, toolsUsed: ['read', 'exec'] },
      { role: 'tool', name: 'read', content: 'result of read', timestamp },
      { role: 'tool', name: 'exec', content: 'result of exec', timestamp },
      { role: 'assistant', content: 'answer of r1', timestamp },
    ]);
    expect(answer).toMatchObject({ sessionKey: MAIN, agentId: 'main', format: 'full' });
    expect(answer).toMatchObject({ more: false, truncated: false });
    expect(JSON.stringify(answer)).not.toMatch(/secret|sig|costUsd|usage|77/);
  });

  it('omits tools in messages_only, and lists the tools that led to an answer', async () => {
    const { messages } = await read(await withTalk(), {
      sessionKey: MAIN,
      format: 'messages_only',
    });
    expect(messages.map(({ role, toolsUsed }) => [role, toolsUsed])).toEqual([
      ['user', undefined],
      ['assistant', ['read', 'exec']],
      ['user', undefined],
      ['assistant', undefined],
    ]);
  });

  it('returns the last messages, and those since a time', async () => {
    const stored = await withTalk();
    const last = await read(stored, { sessionKey: MAIN, limit: 3 });
    expect(contents(last)).toEqual(['answer of r1', 'question of r2', 'answer of r2']);
    expect(last['more']).toBe(true);
    const since = new Date(NOW - 45 * 60_000).toISOString();
    const newer = await read(stored, { sessionKey: MAIN, since });
    expect(contents(newer)).toEqual(['question of r2', 'answer of r2']);
    expect(newer['more']).toBe(false);
    expect(await read(stored, { sessionKey: MAIN, since: 'yesterday' })).toMatchObject({
      status: 'invalid',
    });
  });

  it('reads nothing before a reset', async () => {
    const stored = await withTalk();
    await stored.say(MAIN, [
      { type: 'reset', runId: '', sessionId: 'next', at: NOW - 60_000 },
      ...runOf('r3', 0),
    ]);
    expect(contents(await read(stored, { sessionKey: MAIN }))).toEqual([
      'question of r3',
      'answer of r3',
    ]);
  });

  it('cuts long texts, describes images by size, and names senders that are not users', async () => {
    const stored = await withTalk();
    const image = { mimeType: 'image/png', data: Buffer.alloc(1_000).toString('base64') } as const;
    const odd = { mimeType: 'image/png', data: Buffer.alloc(1_001).toString('base64') } as const;
    const origin = { kind: 'agent', sessionKey: WORK, ids: ['c'] } as const;
    const entries: SessionEntry[] = [
      {
        type: 'user',
        runId: 'x',
        text: `${'a'.repeat(3_999)}😀 tail`,
        images: [image, odd],
        origin,
        at: NOW,
      },
      {
        type: 'tool',
        runId: 'x',
        callId: 'c',
        name: 'exec',
        result: 'no',
        isError: true,
        images: [image],
        at: NOW,
      },
    ];
    await stored.say(MAIN, entries);
    const { messages } = await read(stored, { sessionKey: MAIN, limit: 2 });
    const timestamp = '2026-03-01T12:00:00.000Z';
    expect(messages).toEqual([
      {
        role: 'user',
        content: `${'a'.repeat(3_999)}…(truncated)…`,
        timestamp,
        from: WORK,
        images: [
          { omitted: true, bytes: 1_000 },
          { omitted: true, bytes: 1_001 },
        ],
      },
      {
        role: 'tool',
        name: 'exec',
        content: 'no',
        timestamp,
        isError: true,
        images: [{ omitted: true, bytes: 1_000 }],
      },
    ]);
  });

  it('drops the oldest messages above 80 KiB of JSON, and reports it', async () => {
    const stored = await withTalk();
    const said = (n: number): SessionEntry => ({
      type: 'user',
      runId: `m${n}`,
      text: `${n} ${'é"'.repeat(2_000)}`,
      at: NOW,
    });
    await stored.say(
      MAIN,
      Array.from({ length: 100 }, (_, n) => said(n)),
    );
    const context = stored.context();
    const { text } = await sessionsHistoryTool.run({ sessionKey: MAIN, limit: 500 }, context);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(80 * 1_024);
    expect(Buffer.byteLength(text)).toBeGreaterThan(60 * 1_024);
    const { messages, truncated } = JSON.parse(text) as Answer;
    expect(truncated).toBe(true);
    expect(messages.at(-1)?.content).toMatch(/^99 /);
    expect(messages.every(({ content }) => content.endsWith('…(truncated)…'))).toBe(true);
  });

  it('reads only the end of a long transcript', { timeout: 60_000 }, async () => {
    const stored = await withTalk();
    for (let n = 0; n < 20; n++)
      await stored.say(
        MAIN,
        Array.from({ length: 1_000 }, (_, at) => runOf(`r${n}-${at}`, 1)[0]!),
      );
    const { messages } = await read(stored, { sessionKey: MAIN });
    expect(messages).toHaveLength(50);
    expect(messages.at(-1)?.content).toBe('question of r19-999');
    expect(stored.entriesRead()).toBeLessThanOrEqual(64);
  });

  it('reads every entry once when it needs more than one piece', async () => {
    const stored = await withTalk();
    await stored.say(
      MAIN,
      Array.from({ length: 700 }, (_, at) => runOf(`n${at}`, 1)[0]!),
    );
    const { messages } = await read(stored, { sessionKey: MAIN, limit: 500 });
    expect(contents({ messages })).toEqual(
      Array.from({ length: 500 }, (_, at) => `question of n${200 + at}`),
    );
  });
});

describe('the permission to read a history', () => {
  const talkWith = (level: 'none' | 'summary' | 'full') => ({
    talk: { ...OPEN_TALK, agents: { work: { historyAccess: { '*': level } } } },
  });

  it('is refused, with the rule, for the key of a closed session', async () => {
    const stored = await withTalk();
    expect(await read(stored, { sessionKey: WORK })).toMatchObject({
      status: 'forbidden',
      rule: 'tools.agentToAgent.enabled',
      error: expect.stringContaining('tools.agentToAgent.enabled'),
    });
    expect(await read(stored, { sessionKey: 'agent:work:absent' })).toMatchObject({
      status: 'forbidden',
    });
    expect(await read(stored, { sessionKey: WORK }, talkWith('none'))).toMatchObject({
      status: 'forbidden',
      rule: 'agents.agents[work].a2a.historyAccess',
    });
  });

  it('is limited to a summary when the other agent configures it', async () => {
    const stored = await withTalk();
    const some = await read(stored, { sessionKey: WORK }, talkWith('summary'));
    expect(some).toMatchObject({ format: 'summary', label: 'Work', status: 'idle' });
    expect(some).not.toHaveProperty('messages');
    const full = await read(stored, { sessionKey: WORK, format: 'full' }, talkWith('summary'));
    expect(full).toMatchObject({
      status: 'forbidden',
      rule: 'agents.agents[work].a2a.historyAccess',
    });
    expect(await read(stored, { label: 'Wo' }, talkWith('full'))).toMatchObject({
      sessionKey: WORK,
      format: 'full',
    });
  });

  it('allows a summary without a model: description, numbers, questions and answers', async () => {
    const stored = await withTalk();
    await stored.say(MAIN, [
      {
        type: 'compaction',
        runId: 'r2',
        summary: 'They planned a journey.',
        keptFrom: 3,
        tokensBefore: 9,
        tokensAfter: 3,
        at: NOW,
      },
      ...runOf('r3', 3),
      ...runOf('r4', 2, ['read']),
    ]);
    const { summary } = await read(stored, { sessionKey: MAIN, format: 'summary' });
    expect(String(summary).split('\n')).toEqual([
      'Session main of agent main, idle, begun 2026-02-22T13:20:00.000Z, last active 2026-03-01T11:59:00.000Z.',
      '4 entries in its transcript, 0 messages waiting, 1200 tokens used.',
      'Summary of older messages: They planned a journey.',
      '2026-03-01T11:57:00.000Z a user wrote: "question of r3"',
      '2026-03-01T11:58:00.000Z a user wrote: "question of r4"',
      '2026-03-01T11:58:00.000Z the last answer: "answer of r4"',
    ]);
  });
});
