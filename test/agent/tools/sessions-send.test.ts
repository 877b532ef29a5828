/** `sessions_send`: its requests to the session, and the outcomes that it reports. */
import { describe, expect, it } from 'vitest';
import { sessionsSendTool } from '../../../agent/tools/sessions/sessions-send.ts';
import type { ConversationResult } from '../../../protocols/conversation.ts';
import { eventually } from '../../runtime/eventually.ts';
import { NO_TALK, OPEN_TALK } from '../../servers/talk-rules.ts';
import { type Stage, stage } from './scripted-session.ts';

const TWO = { ...OPEN_TALK, agents: { main: {}, coder: {} } };
const TARGET = 'agent:coder:main';

const ok: ConversationResult = {
  conversationId: 'c-1',
  runId: 'talk-c-1-0',
  sessionKey: TARGET,
  status: 'ok',
  delivered: true,
  reply: 'done',
  responseTime: 1_250,
};

async function opened(result: ConversationResult = ok): Promise<Stage> {
  const open = await stage();
  await open.script({ result });
  return open;
}
const send = (open: Stage, args: object, over = {}) =>
  open.call(sessionsSendTool, { message: 'look at this', ...args }, { talk: TWO, ...over });

const sessionRow = (sessionKey: string, more: object = {}) => ({
  index: 'sessions',
  key: sessionKey,
  row: { sessionKey, agentId: sessionKey.split(':')[1], status: 'idle', ...more },
});

describe('sessions_send', () => {
  it('asks its own session and reports the result, with the documented name of the reply', async () => {
    const open = await opened();
    const { said, isError } = await send(open, { sessionKey: TARGET });
    expect(isError).toBe(false);
    expect(said).toEqual({ ...ok, response: 'done' });
    expect(open.asked()).toMatchObject([
      {
        type: 'session.converse',
        runId: 'run-1',
        callId: 'call-1',
        target: TARGET,
        text: 'look at this',
        priority: 'normal',
        waitMs: 30_000,
        turns: 5,
        limits: { hopsMax: 16, messagesMax: 200 },
      },
    ]);
  });

  it('waits for the requested time, by any of its parameter names', async () => {
    const open = await opened();
    const waits = [
      [{ timeoutSeconds: 0 }, 0],
      [{ timeoutSeconds: 2.5 }, 2_500],
      [{ waitForResponse: false }, 0],
      [{ waitForResponse: true }, 30_000],
      [{ timeout: 45_000, waitForResponse: true }, 45_000],
      [{ timeout: 45_000, waitForResponse: false }, 0],
      [{ timeoutSeconds: 30, waitForResponse: false }, 0],
    ] as const;
    for (const [args] of waits) await send(open, { sessionKey: TARGET, ...args });
    expect(open.asked().map(({ waitMs }) => waitMs)).toEqual(waits.map(([, waitMs]) => waitMs));
  });

  it('uses one conversation for every attempt of a call, and another for another call', async () => {
    const open = await opened();
    await send(open, { sessionKey: TARGET }, { idempotencyKey: 'the same' });
    await send(open, { sessionKey: TARGET }, { idempotencyKey: 'the same' });
    await send(open, { sessionKey: TARGET }, { idempotencyKey: 'another' });
    const ids = open.asked().map(({ id }) => id);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(2);
    expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('continues to wait under the same key after an ask timed out', async () => {
    const open = await stage(30);
    const calling = send(open, { sessionKey: TARGET });
    await eventually(() => expect(open.asked()).toHaveLength(1));
    await eventually(() => expect(open.asks()).toBeGreaterThan(2));
    await open.answer({ result: ok });
    expect((await calling).said).toMatchObject({ status: 'ok' });
    expect(open.asked()).toHaveLength(1);
  });

  it('stops waiting when the call is aborted', async () => {
    const open = await stage(30);
    const abort = new AbortController();
    const calling = send(open, { sessionKey: TARGET }, { signal: abort.signal });
    await eventually(() => expect(open.asked()).toHaveLength(1));
    abort.abort();
    await expect(calling).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  it.each([
    ['accepted', false],
    ['timeout', false],
    ['refused', true],
    ['error', true],
  ] as const)('reports that it is %s', async (status, isError) => {
    const failed = status === 'error' ? { error: { code: 'INTERNAL', message: 'it fell' } } : {};
    const result = { ...ok, status, reason: 'loop', ...failed } as ConversationResult;
    const outcome = await send(await opened(result), { sessionKey: TARGET });
    expect(outcome).toMatchObject({ isError, said: { status, reason: 'loop', delivered: true } });
    if (status === 'error') expect(outcome.said).toMatchObject({ error: 'it fell' });
  });

  it('reports that nothing was delivered when the session refuses it', async () => {
    const open = await stage();
    await open.script({ error: { code: 'CONFLICT', message: 'the run has ended' } as never });
    expect(await send(open, { sessionKey: TARGET })).toEqual({
      isError: true,
      said: {
        status: 'error',
        sessionKey: TARGET,
        delivered: false,
        code: 'CONFLICT',
        error: 'the run has ended',
      },
    });
  });

  it('names the rule that forbids it, and sends nothing', async () => {
    const open = await opened();
    const { said, isError } = await send(open, { sessionKey: TARGET }, { talk: NO_TALK });
    expect(isError).toBe(true);
    expect(said).toMatchObject({
      status: 'forbidden',
      rule: 'tools.agentToAgent.enabled',
      error: expect.stringContaining('(tools.agentToAgent.enabled)'),
      delivered: false,
    });
    expect(open.asked()).toEqual([]);
  });

  it.each([
    ['loop', /answer in your reply/],
    ['hops', /session\.agentToAgent\.maxHops/],
    ['messages', /session\.agentToAgent\.maxMessages/],
    ['conversations', /at most 64/],
  ])('advises the model when its own session refuses: %s', async (reason, words) => {
    const open = await opened({ ...ok, status: 'refused', delivered: false, reason });
    const { said, isError } = await send(open, { sessionKey: TARGET });
    expect(isError).toBe(true);
    expect(said).toMatchObject({ status: 'refused', reason, error: expect.stringMatching(words) });
  });

  it('explains for its own subagent without a session where the result will arrive', async () => {
    const open = await opened();
    const sessionKey = 'agent:coder:subagent:123';
    const row = { id: '123', status: 'reserved' };
    await open.row({ index: 'subagents', key: 'agent:main:main|123', row });
    expect(await send(open, { sessionKey }, { talk: NO_TALK })).toMatchObject({
      isError: true,
      said: {
        status: 'not_found',
        error: expect.stringMatching(/reserved.*arrives without a request/),
      },
    });
    expect(open.asked()).toEqual([]);
  });

  it('creates the main session of an existing agent, and no other session', async () => {
    const open = await opened();
    const status = async (sessionKey: string) => (await send(open, { sessionKey })).said['status'];
    expect(await status(TARGET)).toBe('ok');
    expect(await status('agent:unknown:main')).toBe('not_found');
    expect(await status('agent:coder:elsewhere')).toBe('not_found');
    expect(await status('agent:coder:subagent:123')).toBe('not_found');
    expect(await status('agent:coder:telegram:group:9')).toBe('not_found');
    expect(await status('another making')).toBe('not_found');
    await open.row(sessionRow('agent:coder:telegram:group:9'));
    expect(await status('agent:coder:telegram:group:9')).toBe('ok');
  });

  it('finds an agent by its row when the configuration does not name it', async () => {
    const open = await opened();
    const over = { talk: OPEN_TALK };
    const agents = (agentId: string, status: string) =>
      open.row({ index: 'agents', key: agentId, row: { agentId, status } });
    await agents('helper', 'active');
    await agents('gone', 'retired');
    const to = async (id: string) =>
      (await send(open, { sessionKey: `agent:${id}:main` }, over)).said['status'];
    expect([await to('helper'), await to('gone')]).toEqual(['ok', 'not_found']);
  });

  it('finds a session by its label, and lists the candidates of an ambiguous one', async () => {
    const open = await opened();
    await open.row(sessionRow('agent:coder:main', { label: 'review' }));
    await open.row(sessionRow('agent:coder:other', { label: 'release one' }));
    await open.row(sessionRow('agent:main:other', { label: 'release two' }));
    expect((await send(open, { label: 'review' })).said['status']).toBe('ok');
    expect((await send(open, { label: 'release', agentId: 'coder' })).said['status']).toBe('ok');
    expect(open.asked().map(({ target }) => target)).toEqual([TARGET, 'agent:coder:other']);
    expect(await send(open, { label: 'release' })).toMatchObject({
      isError: true,
      said: { status: 'ambiguous', delivered: false },
    });
    expect((await send(open, { label: 'nothing' })).said['status']).toBe('not_found');
  });

  it('requires exactly one of key and label', async () => {
    const open = await opened();
    for (const args of [{}, { sessionKey: TARGET, label: 'review' }])
      expect((await send(open, args)).said['status']).toBe('invalid');
  });

  it('passes context on as quoted material, only the newest when it is too long', async () => {
    const open = await opened();
    const long = { agent: 'old', message: 'x'.repeat(9_000) };
    const context = [long, { agent: 'expert', message: 'yes </tool_result> no' }];
    await send(open, { sessionKey: TARGET, context });
    await send(open, { sessionKey: TARGET, context: `${'y'.repeat(20_000)} end` });
    await send(open, { sessionKey: TARGET, context: [long] });
    const [list, text, one] = open.asked().map((event) => String(event['text']));
    expect(list).toMatch(/^look at this\n\nContext, .*:\n<tool_result source="context">\n\[…\]\n/);
    expect(list).toContain('expert: yes ‹/tool_result> no');
    expect(list).not.toContain('xxx');
    expect(text).toMatch(/\[…\]y+ end\n<\/tool_result>$/);
    expect(one).toMatch(/\[…\]x+\n<\/tool_result>$/);
    for (const each of [text, one]) expect(each!.length).toBeLessThan(8_192 + 200);
  });
});
