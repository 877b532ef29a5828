/** `/v1/conversations`: lists, shows and ends messages between agents, over real HTTP. */
import { describe, expect, it } from 'vitest';
import type { ConversationRow } from '../../../protocols/conversation.ts';
import {
  type ConversationServer,
  MAIN,
  openConversations,
  SECOND,
  SECRET,
} from './conversation-server.ts';

async function call({ url }: ConversationServer, path: string, method = 'GET', secret = SECRET) {
  const headers = { authorization: `Bearer ${secret}` };
  const response = await fetch(`${url}/v1/conversations${path}`, { method, headers });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const listed = async (server: ConversationServer, query = '') =>
  ((await call(server, query)).body['conversations'] as ConversationRow[]).map(({ id }) => id);

describe('GET /v1/conversations', () => {
  it('lists active and ended ones, newest first', async () => {
    const server = await openConversations();
    expect(await listed(server)).toEqual([]);
    await server.begin('ends', 'ended', { turns: 0 });
    await server.begin('goes-on', 'replying');
    expect(await listed(server)).toEqual(['goes-on', 'ends']);
  });

  it('lists those of one session, on either side', async () => {
    const server = await openConversations();
    await server.begin('a', 'replying');
    await server.begin('b', 'ended', { requester: 'agent:second:other', turns: 0 });
    expect(await listed(server, `?session=${MAIN}`)).toEqual(['a']);
    expect(await listed(server, `?session=${SECOND}`)).toEqual(['b', 'a']);
    expect(await listed(server, '?session=agent:unknown:main')).toEqual([]);
    expect(await listed(server, '?tenant=acme')).toEqual([]);
    expect((await call(server, '?tenant=A+B')).status).toBe(400);
  });
});

describe('GET /v1/conversations/{id}', () => {
  it('shows one with its turns', async () => {
    const server = await openConversations();
    const row = await server.begin('a', 'replying');
    expect(await call(server, '/a')).toEqual({ status: 200, body: row });
    expect(row.turns).toMatchObject([
      { turn: 0, sessionKey: SECOND, runId: 'talk-a-0', status: 'ok' },
      { turn: 1, sessionKey: MAIN, runId: 'talk-a-1' },
    ]);
  });

  it('explains where to look when the id is unknown', async () => {
    expect(await call(await openConversations(), '/nothing')).toMatchObject({
      status: 404,
      body: { error: { message: expect.stringContaining('troupe conversations list') } },
    });
  });
});

describe('POST /v1/conversations/{id}/end', () => {
  it('ends one, and reports one that has ended already', async () => {
    const server = await openConversations();
    await server.begin('a', 'replying');
    expect(await call(server, '/a/end', 'POST')).toEqual({ status: 200, body: { ended: true } });
    expect(await call(server, '/a/end', 'POST')).toEqual({ status: 200, body: { ended: false } });
    expect((await call(server, '/a')).body).toMatchObject({
      status: 'ended',
      end: 'ended',
      reason: 'an operator ended it',
    });
  });

  it('returns NOT_FOUND for an unknown one, and creates none', async () => {
    const server = await openConversations();
    expect((await call(server, '/nothing/end', 'POST')).status).toBe(404);
    expect(await listed(server)).toEqual([]);
  });

  it('is refused to callers that are not operators', async () => {
    const server = await openConversations();
    await server.begin('a', 'replying');
    expect((await call(server, '', 'GET', 'else')).status).toBe(403);
    expect((await call(server, '/a', 'GET', 'else')).status).toBe(403);
    expect((await call(server, '/a/end', 'POST', 'else')).status).toBe(403);
    expect((await call(server, '/a')).body).toMatchObject({ status: 'replying' });
  });
});
