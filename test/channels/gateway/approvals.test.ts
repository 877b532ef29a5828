/** Approvals of commands over the gateway. */
import { afterEach, describe, expect, test } from 'vitest';
import type { ApprovalRow } from '../../../protocols/approval.ts';
import type { FakeSessionSystem } from './fake-session-system.ts';
import { MAIN } from './client.ts';
import { closeAll, openAll, openClient, openGateway } from './opened.ts';

afterEach(closeAll);

const OPTIONS = ['allow-once', 'allow-always', 'deny'].map((name) => ({
  name,
  means: name === 'deny' ? ('denied' as const) : ('allowed' as const),
}));

const asked = (id: string, more: Partial<ApprovalRow> = {}): ApprovalRow => ({
  id,
  asked_at: '2026-01-01T00:00:00.000Z',
  expires_at: '2026-01-01T00:30:00.000Z',
  by: `default/session/${MAIN}`,
  title: 'main wants to run: rm -r build',
  detail: 'in /work',
  options: OPTIONS,
  state: 'asked',
  ...more,
});

const keep = (system: FakeSessionSystem, row: ApprovalRow) =>
  system.kept.table<ApprovalRow>('approvals').set(row.id, row);

/** The run of the session waits for this approval. */
const waitFor = (system: FakeSessionSystem, approvalId: string) =>
  system.live(MAIN, { stream: 'tool', phase: 'approval', callId: 'c', name: 'exec', approvalId });

/** Answers like the approval actor: the first decision counts. */
const decideFirst = (system: FakeSessionSystem) => {
  system.others['approval.answer'] = ({ decision }, to) => {
    const id = to.split('/').at(-1)!;
    const row = system.kept.table<ApprovalRow>('approvals').get(id)!;
    if (row.state !== 'asked') {
      const message = `approval ${id} was decided already: ${row.decision} by ${row.decided_by}`;
      return { kind: 'refused', error: { code: 'CONFLICT', message } };
    }
    const state = decision === 'deny' ? 'denied' : 'allowed';
    keep(system, { ...row, state, decision: decision as string, decided_by: 'operator' });
    return { kind: 'answered', result: {} };
  };
};

describe('a pending approval of a command', () => {
  test('is sent to a new follower of its session if the follower may decide it', async () => {
    const { client, system, gateway } = await openAll();
    const reader = await openClient(gateway, { scopes: ['operator.read'] });
    const options = OPTIONS.filter(({ name }) => name !== 'allow-always');
    keep(system, asked('r.c', { options }));
    const follow = { key: MAIN, includeApprovals: true };
    const shown = await client.call('sessions.messages.subscribe', follow);
    expect(shown.payload.approvalReplay.approvals).toMatchObject([
      {
        id: 'r.c',
        presentation: { commandText: 'rm -r build', allowedDecisions: ['allow-once', 'deny'] },
      },
    ]);
    const hidden = await reader.call('sessions.messages.subscribe', follow);
    expect(hidden.payload.approvalReplay.approvals).toEqual([]);
  });

  test('is published only to operators that may decide', async () => {
    const { client, system, gateway } = await openAll();
    const reader = await openClient(gateway, { scopes: ['operator.read', 'operator.write'] });
    await client.call('chat.send', { sessionKey: MAIN, message: 'x', idempotencyKey: 'r' });
    keep(system, asked('r.c'));
    waitFor(system, 'r.c');
    const { payload } = await client.frame(({ event }) => event === 'exec.approval.requested');
    expect(payload).toEqual({
      id: 'r.c',
      request: {
        command: 'rm -r build',
        detail: 'in /work',
        host: 'gateway',
        agentId: 'main',
        sessionKey: MAIN,
        allowedDecisions: ['allow-once', 'allow-always', 'deny'],
      },
      createdAtMs: Date.parse('2026-01-01T00:00:00Z'),
      expiresAtMs: Date.parse('2026-01-01T00:30:00Z'),
    });
    const refused = await reader.call('exec.approval.list');
    expect(refused.error?.details).toMatchObject({ missingScope: 'operator.approvals' });
    expect(reader.events('exec.approval.requested')).toEqual([]);
  });

  test('is published also when its row is committed after the report of the run', async () => {
    const { client, system } = await openAll();
    await client.call('chat.send', { sessionKey: MAIN, message: 'x', idempotencyKey: 'r' });
    waitFor(system, 'late');
    await client.frame(({ payload }) => payload?.data?.approvalId === 'late');
    keep(system, asked('late'));
    const received = await client.frame(({ event }) => event === 'exec.approval.requested');
    expect(received.payload.id).toBe('late');
  });

  test('contains the whole command, also when its title was truncated', async () => {
    const { client, system } = await openAll();
    const command = `echo ${'x'.repeat(400)}; rm -r build`;
    const title = `main wants to run: ${command}`.slice(0, 256);
    keep(system, asked('long', { title, detail: `In the workspace: ${command}` }));
    const { payload } = await client.call('exec.approval.get', { id: 'long' });
    expect((payload as { commandText: string }).commandText).toContain('; rm -r build');
  });

  test('is read with its outcome, and decided once, like approvals of any kind', async () => {
    const { client, system } = await openAll();
    decideFirst(system);
    keep(system, asked('a'));
    const got = await client.call('approval.get', { id: 'a' });
    expect(got.payload.approval).toMatchObject({
      status: 'pending',
      urlPath: '/approve/a',
      presentation: { kind: 'exec', commandText: 'rm -r build', agentId: 'main' },
    });
    const answer = { id: 'a', kind: 'exec', decision: 'allow-once' };
    const first = await client.call('approval.resolve', answer);
    expect(first.payload).toMatchObject({
      applied: true,
      approval: {
        status: 'allowed',
        decision: 'allow-once',
        reason: 'user',
        resolver: { kind: 'channel', id: 'operator' },
      },
    });
    const late = await client.call('approval.resolve', { ...answer, decision: 'deny' });
    expect(late.payload).toMatchObject({ applied: false, approval: { decision: 'allow-once' } });
    expect((await client.call('approval.get', { id: 'a' })).payload).toEqual({
      approval: late.payload.approval,
    });
  });

  test('has expired when it was not decided, and is cancelled when it was withdrawn', async () => {
    const { client, system } = await openAll();
    keep(system, asked('old', { state: 'expired', decided_at: '2026-01-01T00:30:00.000Z' }));
    keep(system, asked('back', { state: 'expired', decided_at: '2026-01-01T00:10:00.000Z' }));
    const ended = async (id: string) =>
      (await client.call('approval.get', { id })).payload.approval;
    expect(await ended('old')).toMatchObject({ status: 'expired', reason: 'timeout' });
    expect(await ended('back')).toMatchObject({ status: 'cancelled', reason: 'run-aborted' });
    const late = { id: 'old', kind: 'exec', decision: 'deny' };
    const { payload } = await client.call('approval.resolve', late);
    expect(payload).toMatchObject({ applied: false, approval: { status: 'expired' } });
    const plugin = await client.call('approval.resolve', { ...late, kind: 'plugin' });
    expect(plugin.error).toMatchObject({ message: expect.stringMatching(/\/kind must be exec/) });
    const none = await client.call('approval.get', { id: 'none' });
    expect(none.error?.details).toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
  });

  test('is listed, read and decided; every operator is notified once who decided', async () => {
    const { client, system, gateway } = await openAll();
    decideFirst(system);
    keep(system, asked('a'));
    keep(system, asked('b', { asked_at: '2025-12-31T00:00:00.000Z' }));
    keep(system, asked('done', { state: 'allowed', decision: 'allow-once' }));
    keep(system, asked('other', { options: [{ name: 'allow', means: 'allowed' }] }));
    const second = await openClient(gateway);
    const { payload } = await client.call('exec.approval.list');
    expect(payload.map(({ id }: { id: string }) => id)).toEqual(['b', 'a']);
    const got = await client.call('exec.approval.get', { id: 'a' });
    expect(got.payload).toMatchObject({ commandText: 'rm -r build', commandPreview: 'in /work' });

    const yes = await client.call('exec.approval.resolve', { id: 'a', decision: 'allow-always' });
    expect(yes.payload).toEqual({ ok: true });
    const late = await second.call('exec.approval.resolve', { id: 'a', decision: 'deny' });
    expect(late.error).toMatchObject({
      message: 'approval a was decided already: allow-always by operator',
      details: { decision: 'allow-always', decidedBy: 'operator', state: 'allowed' },
    });
    for (const each of [client, second]) {
      const received = await each.frame(({ event }) => event === 'exec.approval.resolved');
      expect(received.payload).toMatchObject({
        id: 'a',
        decision: 'allow-always',
        resolvedBy: 'operator',
      });
      expect(each.events('exec.approval.resolved').length).toBe(1);
    }
  });

  test('is published by every gateway, decided through any, and resolved at all', async () => {
    const { client, system } = await openAll();
    decideFirst(system);
    const other = await openClient(await openGateway(system));
    await client.call('chat.send', { sessionKey: MAIN, message: 'x', idempotencyKey: 'r' });
    keep(system, asked('a'));
    waitFor(system, 'a');
    for (const each of [client, other]) {
      await each.frame(({ event }) => event === 'exec.approval.requested');
    }
    await other.call('exec.approval.resolve', { id: 'a', decision: 'allow-once' });
    for (const each of [client, other]) {
      const received = await each.frame(({ event }) => event === 'exec.approval.resolved');
      expect(received.payload).toMatchObject({ id: 'a', decision: 'allow-once' });
    }
  });

  test('that was not decided in time is published as ended without a decision', async () => {
    const { client, system } = await openAll();
    keep(system, asked('a'));
    await client.call('exec.approval.list');
    keep(system, asked('a', { state: 'expired' }));
    const received = await client.frame(({ event }) => event === 'exec.approval.resolved');
    expect(received.payload).toMatchObject({ id: 'a', decision: null, resolvedBy: null });
  });

  test.each([
    [{ id: 'none', decision: 'deny' }, 'no command waits'],
    [{ id: 'a', decision: 'maybe' }, '/decision is one of'],
    [{ id: 'a', decision: 'deny', grantExpiresInDays: 3 }, '/grantExpiresInDays'],
  ])('is not decided by %o', async (params, message) => {
    const { client, system } = await openAll();
    decideFirst(system);
    keep(system, asked('a'));
    const refused = await client.call('exec.approval.resolve', params);
    expect(refused.error?.message).toContain(message);
    expect(system.kept.table<ApprovalRow>('approvals').get('a')?.state).toBe('asked');
  });
});
