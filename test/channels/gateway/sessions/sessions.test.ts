/**
 * Clients read, create, write to and abort sessions by key, and follow them; on the real runtime
 * and the real session actor.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { System } from '../../../../runtime/index.ts';
import { type Client, MAIN } from '../client.ts';
import { closeAll, openClient, openGateway } from '../opened.ts';
import { dataFolder, openRealSystem } from '../real-system.ts';

let folder = dataFolder();
let system: System;
let client: Client;
let watcher: Client;

beforeEach(async () => {
  folder = dataFolder();
  system = await openRealSystem(folder.path, 0);
  const gateway = await openGateway(system);
  client = await openClient(gateway);
  watcher = await openClient(gateway);
});

afterEach(async () => {
  await closeAll();
  await system.stop();
  folder.remove();
});

/** The payload of a successful answer. */
const call = async (method: string, params: object = {}) => {
  const { ok, payload, error } = await client.call(method, params);
  if (!ok) throw new Error(`${method}: ${JSON.stringify(error)}`);
  return payload;
};

/** Resolves when the message is answered. */
const say = async (sessionKey: string, message: string, idempotencyKey: string) => {
  await call('chat.send', { sessionKey, message, idempotencyKey });
  await client.frame(
    ({ event, payload }) =>
      event === 'chat' && payload.runId === idempotencyKey && payload.state === 'final',
  );
};

const changes = (of: Client) => of.events('sessions.changed').map(({ payload }) => payload);
const messages = (of: Client) => of.events('session.message').map(({ payload }) => payload);

describe('a client that follows all sessions', () => {
  test('is notified when a run starts and ends, with the current session', async () => {
    expect((await watcher.call('sessions.subscribe')).payload).toEqual({ subscribed: true });
    await say(MAIN, 'hello', 'r1');
    const end = await watcher.frame(
      ({ event, payload }) =>
        event === 'sessions.changed' && payload.phase === 'end' && !payload.session.hasActiveRun,
    );
    expect(end.payload).toMatchObject({
      sessionKey: MAIN,
      agentId: 'main',
      reason: 'run',
      runId: 'r1',
      session: { key: MAIN, hasActiveRun: false, activeRunIds: [], isMain: true },
    });
  });

  test('is notified of patches and of a deletion, until it unsubscribes', async () => {
    const key = 'agent:main:trial';
    await watcher.call('sessions.subscribe');
    await call('sessions.patch', { key, label: 'Trial', pinned: true, category: 'work' });
    const patched = await watcher.frame(({ event }) => event === 'sessions.changed');
    expect(patched.payload).toMatchObject({
      sessionKey: key,
      reason: 'patch',
      session: { label: 'Trial', pinned: true, category: 'work', archived: false },
    });
    await call('sessions.delete', { key });
    const gone = await watcher.frame(
      ({ event, payload }) => event === 'sessions.changed' && payload.reason === 'delete',
    );
    expect(gone.payload).not.toHaveProperty('session');
    await watcher.call('sessions.unsubscribe');
    const received = changes(watcher).length;
    await say(MAIN, 'hello', 'r1');
    await watcher.frame(({ event, payload }) => event === 'chat' && payload.state === 'final');
    expect((await watcher.call('sessions.list')).ok).toBe(true);
    expect(changes(watcher).length).toBe(received);
  });

  test('receives only run events without a subscription', async () => {
    await client.call('sessions.subscribe');
    await say(MAIN, 'hello', 'r1');
    await client.frame(({ event }) => event === 'sessions.changed');
    expect(changes(watcher)).toEqual([]);
    expect(watcher.events('chat').length).toBeGreaterThan(0);
  });
});

describe('a client that follows the messages of a session', () => {
  test('receives each later message once, in order, and of no other session', async () => {
    await say(MAIN, 'before', 'r0');
    const { payload } = await watcher.call('sessions.messages.subscribe', {
      key: 'main',
      includeApprovals: true,
    });
    expect(payload).toMatchObject({
      subscribed: true,
      key: MAIN,
      approvalReplay: { sessionKey: MAIN, approvals: [], truncated: false },
    });
    await say('agent:main:other', 'elsewhere', 'r1');
    await say(MAIN, 'call calculate {"expression": "6*7"}', 'r2');
    await watcher.frame(({ event }) => event === 'session.message', 4);
    const received = messages(watcher);
    expect(received.map(({ message }) => message.role)).toEqual([
      'user',
      'assistant',
      'toolResult',
      'assistant',
    ]);
    expect(new Set(received.map(({ sessionKey }) => sessionKey))).toEqual(new Set([MAIN]));
    const places = received.map(({ messageSeq }) => messageSeq as number);
    expect(places).toEqual([...new Set(places)].toSorted((a, b) => a - b));
    const { messages: history } = await call('chat.history', { sessionKey: MAIN, limit: 4 });
    expect(received.map(({ message }) => message)).toEqual(history);
  });

  test('follows a limited number of sessions, and may replace one by another', async () => {
    const follow = (n: number) =>
      watcher.call('sessions.messages.subscribe', { key: `agent:main:s${n}` });
    for (let n = 0; n < 64; n++) expect((await follow(n)).ok).toBe(true);
    expect((await follow(0)).ok).toBe(true);
    expect((await follow(64)).error?.details).toMatchObject({ reason: 'RATE_LIMIT_EXCEEDED' });
    await watcher.call('sessions.messages.unsubscribe', { key: 'agent:main:s0' });
    expect((await follow(64)).ok).toBe(true);
  });

  test('receives a note, which is in the history and which the model reads', async () => {
    await watcher.call('sessions.messages.subscribe', { key: MAIN });
    const note = { sessionKey: MAIN, message: 'The deploy is done.', label: 'ops' };
    const { messageId } = await call('chat.inject', note);
    const { payload } = await watcher.frame(({ event }) => event === 'session.message');
    expect(payload).toMatchObject({
      messageId,
      message: { role: 'assistant', content: [{ text: '[ops]\n\nThe deploy is done.' }] },
    });
    const got = await call('chat.message.get', { sessionKey: MAIN, messageId });
    expect(got).toEqual({ ok: true, message: payload.message });
    await say(MAIN, 'hello', 'r1');
    const { messages: all } = await call('sessions.get', { key: MAIN });
    expect(all.map(({ role }: { role: string }) => role)).toEqual([
      'assistant',
      'user',
      'assistant',
    ]);
  });
});

describe('one session', () => {
  test('is described, or null when it has no messages', async () => {
    expect(await call('sessions.describe', { key: MAIN })).toEqual({ session: null });
    await say(MAIN, 'hello', 'r1');
    const { session } = await call('sessions.describe', { key: 'main', includeLastMessage: true });
    expect(session).toMatchObject({ key: MAIN, classification: 'main', hasActiveRun: false });
    expect(session.lastMessagePreview.length).toBeGreaterThan(0);
    expect(session.totalTokens).toBeGreaterThan(0);
  });

  test('is found by key, id, prefix of an id and label; ambiguous names are refused', async () => {
    await say('agent:main:a', 'hello', 'r1');
    await call('sessions.patch', { key: 'agent:main:a', label: 'news' });
    await call('sessions.patch', { key: 'agent:second:b', label: 'news' });
    const { session } = await call('sessions.describe', { key: 'agent:main:a' });
    const found = { ok: true, key: 'agent:main:a', agentId: 'main', displayName: 'news' };
    for (const params of [
      { key: 'a' },
      { sessionId: session.sessionId },
      { shortId: session.sessionId.slice(0, 12) },
      { label: 'news', agentId: 'main' },
    ]) {
      expect(await call('sessions.resolve', params)).toEqual(found);
    }
    const both = await call('sessions.resolve', { label: 'news' });
    expect(both).toMatchObject({ ok: false });
    expect(both.candidates).toHaveLength(2);
    expect(await call('sessions.resolve', { label: 'x', allowMissing: true })).toEqual({
      ok: false,
    });
    const none = await client.call('sessions.resolve', { label: 'x' });
    expect(none.error?.details).toMatchObject({ reason: 'NOT_FOUND' });
    const vague = await client.call('sessions.resolve', { label: 'x', key: 'main' });
    expect(vague.error?.message).toContain('one of key, sessionId, label, shortId');
  });

  test('that is archived is listed only on request; a pinned one comes first', async () => {
    for (const name of ['a', 'b', 'c']) await call('sessions.patch', { key: `agent:main:${name}` });
    await call('sessions.patch', { key: 'agent:main:a', pinned: true });
    await call('sessions.patch', { key: 'agent:main:b', archived: true });
    const list = async (params: object) =>
      (await call('sessions.list', params)).sessions.map(({ key }: { key: string }) => key);
    expect(await list({})).toEqual(['agent:main:a', 'agent:main:c']);
    expect(await list({ archived: true })).toEqual(['agent:main:b']);
    expect(await list({ archived: 'all' })).toHaveLength(3);
  });

  test('that was reset is not patched under the id of the old one', async () => {
    const params = { key: MAIN, label: 'x', expectedSessionId: 'another' };
    const refused = await client.call('sessions.patch', params);
    expect(refused.error?.details).toMatchObject({ reason: 'CONFLICT' });
  });

  test('is previewed, searched and counted', async () => {
    await say(MAIN, 'the quick brown fox', 'r1');
    const { previews } = await call('sessions.preview', { keys: [MAIN, 'agent:main:no'] });
    expect(previews[0]).toMatchObject({ key: MAIN, status: 'ok' });
    expect(previews[0].items[0]).toEqual({ role: 'user', text: 'the quick brown fox' });
    expect(previews[1]).toEqual({ key: 'agent:main:no', status: 'missing', items: [] });
    const { results } = await call('sessions.search', { query: 'BROWN quick' });
    expect(results).toContainEqual(expect.objectContaining({ sessionKey: MAIN, role: 'user' }));
    expect((await call('sessions.search', { query: 'green' })).results).toEqual([]);
    const { points } = await call('sessions.usage.timeseries', { key: MAIN });
    expect(points).toHaveLength(1);
    expect(points[0].cumulativeTokens).toBe(points[0].totalTokens);
    const { branches } = await call('sessions.branches.list', { sessionKey: MAIN });
    expect(branches).toMatchObject([{ active: true, messageCount: 2 }]);
  });

  test('has its group in the list of groups', async () => {
    await call('sessions.patch', { key: 'agent:main:a', category: 'work' });
    await call('sessions.patch', { key: 'agent:main:b', category: 'home' });
    expect(await call('sessions.groups.list')).toEqual({
      groups: [
        { name: 'home', position: 0 },
        { name: 'work', position: 1 },
      ],
      sectionOrder: ['home', 'work'],
    });
  });
});

describe('a session that is created by key', () => {
  test('has its parameters, and its first message is a run; a repeat creates the same session', async () => {
    const params = {
      agentId: 'second',
      label: 'Trip',
      thinkingLevel: 'low',
      message: 'hello',
      idempotencyKey: 'new-1',
    };
    const made = await call('sessions.create', params);
    expect(made).toMatchObject({ ok: true, runStarted: true, entry: { label: 'Trip' } });
    expect(made.key).toMatch(/^agent:second:/);
    expect(await call('sessions.create', params)).toMatchObject({
      key: made.key,
      runId: made.runId,
    });
    await client.frame(
      ({ event, payload }) =>
        event === 'chat' && payload.runId === made.runId && payload.state === 'final',
    );
    const { messages: all } = await call('sessions.get', { key: made.key });
    expect(all).toHaveLength(2);
  });

  test('must exist to be written to, and is aborted by its run', async () => {
    const key = 'agent:main:work';
    const missing = await client.call('sessions.send', { key, message: 'hello' });
    expect(missing.error?.details).toMatchObject({ reason: 'NOT_FOUND' });
    await call('sessions.create', { key });
    const sent = await call('sessions.send', { key, message: 'hello', idempotencyKey: 'r1' });
    expect(sent).toMatchObject({ runId: 'r1', status: 'started' });
    await client.frame(
      ({ event, payload }) =>
        event === 'chat' && payload.runId === 'r1' && payload.state === 'final',
    );
    expect(await call('sessions.send', { key, message: 'hello', idempotencyKey: 'r1' })).toEqual({
      runId: 'r1',
      status: 'ok',
      queued: false,
    });
    expect(await call('sessions.abort', { runId: 'r1' })).toEqual({
      ok: true,
      abortedRunId: null,
      status: 'no-active-run',
    });
  });

  test.each([{ fork: true }, { worktree: true }, { permissionMode: 'full' }])(
    'with a parameter that troupe does not support is refused by name (%j)',
    async (field) => {
      const refused = await client.call('sessions.create', { agentId: 'main', ...field });
      expect(refused.error?.message).toContain(Object.keys(field)[0]);
    },
  );
});

describe('a page that opens', () => {
  test('receives history within the limit and commands in one answer', async () => {
    await say(MAIN, `first ${'x'.repeat(2_000)}`, 'r1');
    await say(MAIN, 'second', 'r2');
    const all = await call('chat.startup', { sessionKey: MAIN });
    expect(all.messages).toHaveLength(4);
    expect(all).toMatchObject({ hasMore: false, sessionInfo: { key: MAIN } });
    expect(all.metadata.commands.length).toBeGreaterThan(3);
    expect(await call('chat.metadata', { sessionKey: MAIN })).toEqual(all.metadata);
    const few = await call('chat.startup', { sessionKey: MAIN, maxBytes: 2_000 });
    expect(few.hasMore).toBe(true);
    expect(few.messages).toEqual(all.messages.slice(-few.messages.length));
    expect(few.messages.length).toBeLessThan(4);
  });

  test.each([
    ['0', 'not_found'],
    ['99', 'not_found'],
    ['what', 'not_found'],
  ])('a message %s that does not exist is reported as %s', async (messageId, unavailableReason) => {
    const params = { sessionKey: MAIN, messageId };
    expect(await call('chat.message.get', params)).toEqual({ ok: false, unavailableReason });
  });

  test('lists of features that troupe does not have are empty', async () => {
    expect(await call('question.list')).toEqual({ questions: [] });
    expect(await call('plugin.approval.list')).toEqual([]);
    expect(await call('openclaw.approval.list')).toEqual([]);
    expect(await call('last-heartbeat')).toBeNull();
    expect(await call('exec.approvals.get')).toMatchObject({ exists: false, file: { version: 1 } });
  });
});
