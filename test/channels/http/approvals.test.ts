/** `/v1/approvals`: pending approvals and decisions, over real HTTP. */
import { describe, expect, it } from 'vitest';
import { approvalAddress, type ApprovalRow } from '../../../protocols/approval.ts';
import { eventually } from '../../runtime/eventually.ts';
import { type ApprovalServer, openApprovals, SECRET } from './approval-server.ts';

async function call(
  { url }: ApprovalServer,
  path: string,
  body?: unknown,
  secret: string | undefined = SECRET,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${url}/v1/approvals${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: secret ? { authorization: `Bearer ${secret}` } : {},
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const listed = async (server: ApprovalServer, query = '') =>
  (await call(server, query)).body['approvals'] as ApprovalRow[];

describe('GET /v1/approvals', () => {
  it('lists pending ones, the oldest first, and others by their state', async () => {
    const server = await openApprovals();
    expect(await listed(server)).toEqual([]);
    await server.ask('b', { detail: 'it is late' });
    await server.ask('a');
    await server.ask('c');
    expect(await listed(server)).toMatchObject([
      { id: 'b', state: 'asked', by: 'ada', title: 'May I b?', detail: 'it is late' },
      { id: 'a', options: [{ name: 'allow' }, { name: 'deny' }] },
      { id: 'c' },
    ]);
    expect((await call(server, '/a', { decision: 'deny', why: 'no' })).status).toBe(200);
    expect((await listed(server)).map(({ id }) => id)).toEqual(['b', 'c']);
    expect((await listed(server, '?state=denied')).map(({ id }) => id)).toEqual(['a']);
    expect(await listed(server, '?state=all')).toHaveLength(3);
    expect(await call(server, '?state=lost')).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('/state must be one of') } },
    });
  });
});

describe('approvals of another tenant', () => {
  it('are listed and decided by callers that name the tenant', async () => {
    const server = await openApprovals();
    const to = approvalAddress('acme', 'a');
    const asked = { type: 'approval.ask', title: 'May I?' };
    const principal = { sub: 'ada', roles: ['agent'] };
    const answer = server.system.ask(to, asked, { principal, timeoutMs: 30_000 });
    await eventually(async () => expect(await listed(server, '?tenant=acme')).toHaveLength(1));
    expect(await listed(server)).toEqual([]);
    const yes = { decision: 'allow', why: 'fine' };
    expect((await call(server, '/a?tenant=acme', yes)).status).toBe(200);
    expect(await answer).toMatchObject({ result: { state: 'allowed', decided_by: 'op' } });
    expect((await call(server, '?tenant=A+B')).status).toBe(400);
  });
});

describe('POST /v1/approvals/{id}', () => {
  it('decides, notifies the requester, and stores who decided, when and why', async () => {
    const server = await openApprovals();
    const { answer } = await server.ask('a');
    expect(await call(server, '/a', { decision: 'allow', why: 'why not' })).toMatchObject({
      status: 200,
      body: { state: 'allowed', decided_by: 'op', why: 'why not' },
    });
    expect(await answer).toMatchObject({
      kind: 'answered',
      result: { state: 'allowed', decision: 'allow', decided_by: 'op', why: 'why not' },
    });
  });

  it('requires no reason', async () => {
    const server = await openApprovals();
    const { answer } = await server.ask('a');
    expect((await call(server, '/a', { decision: 'allow' })).status).toBe(200);
    expect(await answer).toMatchObject({ result: { state: 'allowed', decided_by: 'op' } });
  });

  it('tells the second caller which decision counted', async () => {
    const server = await openApprovals();
    await server.ask('a');
    await call(server, '/a', { decision: 'allow', why: 'x' });
    expect(await call(server, '/a', { decision: 'deny', why: 'y' })).toMatchObject({
      status: 409,
      body: {
        error: {
          code: 'CONFLICT',
          message: expect.stringMatching(/decided already: allow by op at \d{4}-/),
          details: { state: 'allowed', decided_by: 'op' },
        },
      },
    });
  });

  it('tells a late caller that the approval expired, like the requester', async () => {
    const server = await openApprovals();
    const { answer } = await server.ask('a', { forMs: 1 });
    expect(await answer).toMatchObject({ result: { state: 'expired' } });
    await eventually(async () => expect(await listed(server, '?state=expired')).toHaveLength(1));
    expect(await call(server, '/a', { decision: 'allow', why: 'x' })).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('it was not decided in time') } },
    });
  });

  it.each([
    [{ decision: 'perhaps', why: 'x' }, 400, /give one of allow, deny/],
    [{ why: 'x' }, 400, /decision/],
    [{ decision: 'allow', why: 'x', by: 'eve' }, 400, /by/],
  ])('explains what is wrong with %j', async (body, status, message) => {
    const server = await openApprovals();
    await server.ask('a');
    expect(await call(server, '/a', body)).toMatchObject({
      status,
      body: { error: { code: 'INVALID_ARGUMENT', message: expect.stringMatching(message) } },
    });
    expect(await listed(server)).toHaveLength(1);
    expect(server.faults).toEqual([]);
  });

  it('returns NOT_FOUND for an unknown approval, and creates none', async () => {
    const server = await openApprovals();
    expect(await call(server, '/nothing', { decision: 'allow', why: 'x' })).toMatchObject({
      status: 404,
      body: { error: { message: expect.stringContaining('troupe approvals list') } },
    });
    expect(await listed(server, '?state=all')).toEqual([]);
  });

  it.each([
    ['', 401],
    ['of-another-program', 403],
  ])('shows and decides nothing with the secret %j', async (secret, status) => {
    const server = await openApprovals();
    await server.ask('a');
    expect((await call(server, '', undefined, secret)).status).toBe(status);
    expect((await call(server, '/a', { decision: 'allow', why: 'x' }, secret)).status).toBe(status);
    expect(await listed(server)).toHaveLength(1);
  });
});
