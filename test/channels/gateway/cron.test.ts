/** Cron jobs through the gateway, on the real runtime and the real schedule and session actors. */
import { afterEach, describe, expect, test } from 'vitest';
import { GatewayMethods, type GatewayMethodName } from '../../../protocols/gateway/index.ts';
import { checker } from '../../../protocols/check.ts';
import { createTalkTools } from '../../../agent/tools/sessions/session-sending-tools.ts';
import type { Tool } from '../../../actors/index.ts';
import type { System } from '../../../runtime/index.ts';
import { type Client, eventually, MAIN } from './client.ts';
import { closeAll, openClient, openGateway } from './opened.ts';
import { dataFolder, openRealSystem } from './real-system.ts';

let folder = dataFolder();
let system: System | undefined;

const open = async (tools: readonly Tool[] = []) => {
  await system?.stop();
  system = await openRealSystem(folder.path, 0, tools);
  const gateway = await openGateway(system);
  return { gateway, client: await openClient(gateway) };
};

afterEach(async () => {
  await closeAll();
  await system?.stop();
  system = undefined;
  folder.remove();
  folder = dataFolder();
});

/** The result, validated with our own method table. */
const ask = async (client: Client, method: GatewayMethodName, params: object = {}) => {
  const frame = await client.call(method, params);
  if (!frame.ok) throw new Error(`${method}: ${frame.error?.message}`);
  expect(checker(GatewayMethods[method].result)(frame.payload)).toMatchObject({ ok: true });
  return frame.payload;
};
const refusal = async (client: Client, method: string, params: object) => {
  const { ok, error } = await client.call(method, params);
  expect(ok).toBe(false);
  return error!;
};

const HOURLY = {
  name: 'hourly',
  schedule: { kind: 'every', everyMs: 3_600_000 },
  sessionTarget: 'isolated',
  wakeMode: 'now',
  payload: { kind: 'agentTurn', message: 'look at the mail' },
  delivery: { mode: 'announce', channel: 'last' },
};
const ended = (client: Client, jobId: string, nth = 1) =>
  client.frame(
    ({ event, payload }) =>
      event === 'cron' && payload.jobId === jobId && payload.action === 'finished',
    nth,
  );

/** Midnight UTC of the next last Sunday in March, at least a day away. */
const nextChange = (now: Date): Date => {
  const inYear = (year: number): Date => {
    const last = new Date(Date.UTC(year, 2, 31));
    return new Date(last.getTime() - last.getUTCDay() * 86_400_000);
  };
  const thisYear = inYear(now.getUTCFullYear());
  const isOver = thisYear.getTime() < now.getTime() + 86_400_000;
  return isOver ? inYear(now.getUTCFullYear() + 1) : thisYear;
};

describe('cron.*', () => {
  test('a resend of cron.add after a lost answer adds no second job', async () => {
    const { client } = await open();
    const keyed = { ...HOURLY, idempotencyKey: 'add-1' };
    const first = await ask(client, 'cron.add', keyed);
    const elsewhere = await openClient(await openGateway(system));
    expect(await ask(elsewhere, 'cron.add', keyed)).toMatchObject({ id: first.id });
    expect(await ask(client, 'cron.list')).toMatchObject({ total: 1 });

    const other = await refusal(client, 'cron.add', { ...keyed, name: 'another job' });
    expect(other.message).toContain('another');
    expect(await ask(client, 'cron.get', { id: first.id })).toMatchObject({ name: 'hourly' });

    await ask(client, 'cron.remove', { id: first.id });
    expect(await ask(client, 'cron.add', keyed)).toMatchObject({ id: first.id });
    expect(await ask(client, 'cron.list', { includeDisabled: true })).toMatchObject({ total: 0 });

    const second = await ask(client, 'cron.add', { ...HOURLY, idempotencyKey: 'add-2' });
    expect(second.id).not.toBe(first.id);
  });

  test('a resend of cron.run after a lost answer starts no second run', async () => {
    const { client } = await open();
    const { id } = await ask(client, 'cron.add', HOURLY);
    const keyed = { id, idempotencyKey: 'run-1' };
    const { runId } = await ask(client, 'cron.run', keyed);
    await ended(client, id);
    expect(await ask(client, 'cron.run', keyed)).toMatchObject({ enqueued: true, runId });
    expect(await ask(client, 'cron.runs', { id })).toMatchObject({ total: 1 });
    expect((await ask(client, 'cron.run', { id })).runId).not.toBe(runId);
  });

  test('a job is added, listed, read, changed, disabled and removed, with an event for each', async () => {
    const { client } = await open();
    const added = await ask(client, 'cron.add', HOURLY);
    expect(added).toMatchObject({
      ...HOURLY,
      enabled: true,
      deliveryPreview: { label: 'announce -> last' },
    });
    const { id } = added;
    const elsewhere = await openClient(await openGateway(system));
    expect(await ask(elsewhere, 'cron.list')).toMatchObject({ total: 1 });
    expect(added.nextRunAtMs).toBe(added.schedule.anchorMs + 3_600_000);
    const listed = await ask(client, 'cron.list');
    expect(listed).toMatchObject({ total: 1, offset: 0, hasMore: false, nextOffset: null });
    expect(listed.jobs).toEqual([await ask(client, 'cron.get', { id })]);
    const patch = {
      name: 'daily',
      description: 'each morning',
      schedule: { kind: 'cron', expr: '0 9 * * *', tz: 'Europe/Berlin' },
      payload: { kind: 'agentTurn', model: 'offline/echo', timeoutSeconds: 90 },
    };
    const changed = await ask(client, 'cron.update', { id, patch });
    expect(changed).toMatchObject({
      name: 'daily',
      description: 'each morning',
      schedule: patch.schedule,
      payload: { kind: 'agentTurn', message: 'look at the mail', model: 'offline/echo' },
    });
    expect(changed.configRevision).not.toBe(added.configRevision);
    await ask(client, 'cron.update', { jobId: id, patch: { enabled: false } });
    expect((await ask(client, 'cron.list')).jobs).toEqual([]);
    const off = await ask(client, 'cron.list', { includeDisabled: true });
    expect(off.jobs).toMatchObject([{ id, enabled: false }]);
    expect(off.jobs[0].nextRunAtMs).toBeUndefined();
    expect(off.snapshotRevision).not.toBe(listed.snapshotRevision);
    expect(await ask(client, 'cron.remove', { id })).toEqual({ ok: true, removed: true });
    await eventually(
      () => client.events('cron').find(({ payload }) => payload.action === 'removed'),
      'the removal',
    );
    const actions = client.events('cron').map(({ payload }) => payload.action);
    expect(actions).toEqual(['added', 'updated', 'updated', 'removed']);
    const there = elsewhere.events('cron').map(({ payload }) => payload.action);
    expect(there).toEqual(['updated', 'updated', 'removed']);
    expect(await refusal(client, 'cron.get', { id })).toMatchObject({
      details: { code: 'CRON_JOB_NOT_FOUND', jobId: id },
    });
  });

  test('a run returns its id, is stored in the history, and resets its session each time', async () => {
    const { client } = await open();
    const { id } = await ask(client, 'cron.add', HOURLY);
    const first = await ask(client, 'cron.run', { id });
    expect(first).toMatchObject({ ok: true, enqueued: true });
    const received = await ended(client, id);
    expect(received.payload).toMatchObject({ status: 'ok', runId: first.runId });
    const sessionKey = `agent:main:cron:${id}`;
    const before = await ask(client, 'cron.runs', { id, runId: first.runId, limit: 1 });
    expect(before.entries).toMatchObject([
      { jobId: id, status: 'ok', completionStatus: 'succeeded', sessionKey, jobName: 'hourly' },
    ]);
    expect(before.entries[0].durationMs).toBeGreaterThanOrEqual(0);
    expect(before.entries[0].summary).toContain('look at the mail');
    const [{ sessionId }] = (await ask(client, 'sessions.list')).sessions;
    await ask(client, 'cron.run', { id, mode: 'force' });
    await ended(client, id, 2);
    const { sessions } = await ask(client, 'sessions.list');
    expect(sessions).toMatchObject([{ key: sessionKey }]);
    const all = await ask(client, 'cron.runs', { scope: 'all', agentId: 'main', limit: 1 });
    expect(all).toMatchObject({ total: 2, hasMore: true, nextOffset: 1 });
    expect(await ask(client, 'cron.runs', { id, status: 'error' })).toMatchObject({ total: 0 });
    expect(sessions[0].sessionId).not.toBe(sessionId);
    expect(await ask(client, 'cron.run', { id, mode: 'due' })).toMatchObject({
      ran: false,
      reason: 'not-due',
    });
  });

  test('a job of the main session arrives there as a system event', async () => {
    const { client } = await open();
    const { id } = await ask(client, 'cron.add', {
      ...HOURLY,
      sessionTarget: 'main',
      payload: { kind: 'systemEvent', text: 'the sun is up' },
      delivery: { mode: 'none' },
    });
    expect(await ask(client, 'cron.get', { id })).toMatchObject({
      sessionTarget: 'main',
      payload: { kind: 'systemEvent', text: 'the sun is up' },
    });
    const { sessionKey } = await ask(client, 'cron.run', { id });
    expect(sessionKey).toBe(MAIN);
    await ended(client, id);
  });

  test('a one-time job is removed after its run if requested', async () => {
    const { client } = await open();
    const at = new Date(Date.now() + 400).toISOString();
    const once = { ...HOURLY, schedule: { kind: 'at', at }, deleteAfterRun: true };
    const { id } = await ask(client, 'cron.add', once);
    expect((await ended(client, id)).payload).toMatchObject({ status: 'ok' });
    await eventually(
      () => client.events('cron').find(({ payload }) => payload.action === 'removed'),
      'the removal of the job',
    );
    expect(await refusal(client, 'cron.get', { id })).toMatchObject({ code: 'INVALID_REQUEST' });
  });

  test('the same declaration is the same job, also at another gateway and after a restart', async () => {
    const { client } = await open();
    const declared = { ...HOURLY, declarationKey: 'mail:hourly' };
    const first = await ask(client, 'cron.add', declared);
    expect(first).toMatchObject({ created: true, job: { declarationKey: 'mail:hourly' } });
    expect(await ask(client, 'cron.add', declared)).toMatchObject({
      created: false,
      updated: false,
      job: { id: first.job.id, nextRunAtMs: first.job.nextRunAtMs },
    });
    const again = await open();
    const changed = { ...declared, description: 'new' };
    expect(await ask(again.client, 'cron.add', changed)).toMatchObject({
      created: false,
      updated: true,
      job: { id: first.job.id, description: 'new' },
    });
    expect(await ask(again.client, 'cron.list')).toMatchObject({ total: 1 });
  });

  test('a change based on an outdated revision is refused', async () => {
    const { client } = await open();
    const { id, configRevision } = await ask(client, 'cron.add', HOURLY);
    await ask(client, 'cron.update', { id, patch: { description: 'mine' } });
    const late = { id, patch: { description: 'yours' }, expectedConfigRevision: configRevision };
    expect(await refusal(client, 'cron.update', late)).toMatchObject({
      details: { reason: 'CONFLICT' },
    });
    expect(await ask(client, 'cron.get', { id })).toMatchObject({ description: 'mine' });
  });

  test.each([
    ['/schedule/kind', { schedule: { kind: 'on-exit', command: 'make' } }],
    ['/schedule/kind', { schedule: { kind: 'stream', command: ['tail'] } }],
    ['/schedule/at', { schedule: { kind: 'at', at: 'tomorrow' } }],
    ['/payload/kind', { payload: { kind: 'command', argv: ['ls'] } }],
    ['/payload/kind', { payload: { kind: 'script', script: '1' } }],
    ['/payload/toolsAllow', { payload: { kind: 'agentTurn', message: 'x', toolsAllow: ['exec'] } }],
    ['/delivery/mode', { delivery: { mode: 'webhook', to: 'https://x.test' } }],
    ['/delivery/channel', { delivery: { mode: 'announce', channel: 'telegram' } }],
    ['/delivery/to', { delivery: { mode: 'announce', to: '+49' } }],
    ['/trigger', { trigger: { script: 'true' } }],
    ['/failureAlert', { failureAlert: { after: 3 } }],
    ['/wakeMode', { wakeMode: 'next-heartbeat', payload: { kind: 'systemEvent', text: 'x' } }],
  ])('%s that troupe does not support is refused with its path', async (path, more) => {
    const { client } = await open();
    const error = await refusal(client, 'cron.add', { ...HOURLY, ...more });
    expect(error).toMatchObject({ code: 'INVALID_REQUEST' });
    expect(error.message).toContain(`${path}:`);
    expect(await ask(client, 'cron.status')).toMatchObject({ jobs: 0, nextWakeAtMs: null });
  });

  test('a local time that a clock change skips becomes the time of the change', async () => {
    const { client } = await open();
    const day = nextChange(new Date());
    const expr = `30 2 ${day.getUTCDate()} 3 *`;
    const schedule = { kind: 'cron', expr, tz: 'Europe/Berlin' };
    const { id, nextRunAtMs } = await ask(client, 'cron.add', { ...HOURLY, schedule });
    // 02:00 does not exist that day and becomes 03:00: 01:00 UTC.
    expect(new Date(nextRunAtMs)).toEqual(new Date(day.getTime() + 3_600_000));
    const { schedule: shown } = await ask(client, 'cron.get', { id });
    expect(shown).toEqual(schedule);
  });

  test('times are spread by the requested stagger, with an offset per job', async () => {
    const { client } = await open();
    const schedule = { kind: 'cron', expr: '0 9 * * *', tz: 'UTC', staggerMs: 300_000 };
    const late = new Set<number>();
    for (let job = 0; job < 5; job++) {
      const { nextRunAtMs } = await ask(client, 'cron.add', { ...HOURLY, schedule });
      late.add(nextRunAtMs % 3_600_000);
    }
    expect(Math.max(...late)).toBeLessThanOrEqual(300_000);
    expect(late.size).toBeGreaterThan(1);
  });

  test('lists are sorted, filtered and paged', async () => {
    const { client } = await open();
    for (const name of ['b', 'c', 'a']) await ask(client, 'cron.add', { ...HOURLY, name });
    const names = async (params: object) =>
      (await ask(client, 'cron.list', params)).jobs.map(({ name }: { name: string }) => name);
    expect(await names({ sortBy: 'name' })).toEqual(['a', 'b', 'c']);
    expect(await names({ sortBy: 'name', sortDir: 'desc', limit: 1, offset: 1 })).toEqual(['b']);
    expect(await names({ query: 'MAIL', sortBy: 'name', limit: 2 })).toEqual(['a', 'b']);
    expect(await names({ query: 'nothing like it' })).toEqual([]);
    expect(await names({ scheduleKind: 'cron' })).toEqual([]);
    expect(await names({ agentId: 'second' })).toEqual([]);
    expect(await names({ lastRunStatus: 'unknown' })).toHaveLength(3);
  });

  test('a client with read access cannot change jobs', async () => {
    const { gateway } = await open();
    const reader = await openClient(gateway, { scopes: ['operator.read'] });
    expect(await ask(reader, 'cron.list')).toMatchObject({ total: 0 });
    expect(await refusal(reader, 'cron.add', HOURLY)).toMatchObject({
      details: { missingScope: 'operator.admin' },
    });
  });
});

describe('wake', () => {
  test('now: the agent answers at once in its main session, once per key', async () => {
    const { client } = await open();
    const word = { mode: 'now', text: 'the disk is full', idempotencyKey: 'disk' };
    const first = await ask(client, 'wake', word);
    expect(first).toMatchObject({ ok: true, sessionKey: MAIN });
    await client.chat('final');
    expect(await ask(client, 'wake', word)).toEqual(first);
    const { payload } = await client.call('chat.history', { sessionKey: MAIN });
    expect(payload.messages).toHaveLength(2);
  });

  test('next-heartbeat: the event is added to the session, and no run starts', async () => {
    const { client } = await open();
    await ask(client, 'wake', { mode: 'next-heartbeat', text: 'the disk is full' });
    const { payload } = await client.call('chat.history', { sessionKey: MAIN });
    expect(payload.messages).toMatchObject([{ role: 'user', senderLabel: 'system event' }]);
    expect(payload.messages[0]).not.toHaveProperty('idempotencyKey');
    expect(JSON.stringify(payload.messages)).toContain('the disk is full');
    expect(client.events('chat').filter(({ payload: { state } }) => state === 'delta')).toEqual([]);
    expect(await ask(client, 'tasks.list')).toEqual({ tasks: [] });
  });
});

describe('tasks.* and send', () => {
  test('runs of jobs are tasks: listed by state, read with their answer, and published', async () => {
    const { client } = await open();
    const { id } = await ask(client, 'cron.add', HOURLY);
    const { runId } = await ask(client, 'cron.run', { id });
    await ended(client, id);
    const done = await eventually(
      () =>
        client
          .events('task')
          .map(({ payload }) => payload)
          .find(({ task }) => task.status === 'completed'),
      'the event of the task',
    );
    expect(done).toMatchObject({ action: 'upserted', task: { id: runId, runtime: 'cron' } });
    const { tasks } = await ask(client, 'tasks.list', { status: ['completed'], sortBy: 'endedAt' });
    expect(tasks).toMatchObject([{ taskId: runId, sourceId: id, title: 'hourly' }]);
    expect(await ask(client, 'tasks.list', { status: 'running' })).toEqual({ tasks: [] });
    const { task } = await ask(client, 'tasks.get', { taskId: runId });
    expect(task).toMatchObject({ prompt: 'look at the mail' });
    expect(task.result).toContain('look at the mail');
    expect(await ask(client, 'tasks.cancel', { taskId: runId })).toMatchObject({
      found: true,
      cancelled: false,
    });
    expect(await ask(client, 'tasks.cancel', { taskId: 'none' })).toMatchObject({ found: false });
  });

  test('a subagent is a task of its parent session, and cancelling it ends it', async () => {
    const { client } = await open(createTalkTools());
    const message = 'delegate to main: [[words:2000]] [[pace:5]] count the stars';
    client.request('chat.send', { sessionKey: MAIN, message, idempotencyKey: 'spawn' });
    const begun = await client.frame(
      ({ event, payload }) => event === 'task' && payload.task.status === 'running',
    );
    const { id, runtime, sessionKey, childSessionKey } = begun.payload.task;
    expect({ runtime, sessionKey }).toEqual({ runtime: 'subagent', sessionKey: MAIN });
    expect(
      await ask(client, 'tasks.list', { sessionKey: MAIN, status: ['running'] }),
    ).toMatchObject({
      tasks: [{ id, childSessionKey }],
    });
    const { task } = await ask(client, 'tasks.get', { taskId: id });
    expect(task.prompt).toContain('count the stars');
    expect(await ask(client, 'tasks.cancel', { taskId: id })).toMatchObject({ cancelled: true });
    const over = await client.frame(
      ({ event, payload }) => event === 'task' && payload.task.status === 'cancelled',
    );
    expect(over.payload.task.id).toBe(id);
  });

  test('a message is added to a session once per key; other channels are refused by name', async () => {
    const { client } = await open();
    const words = { to: MAIN, message: 'dinner is ready', idempotencyKey: 'dinner' };
    const sent = await ask(client, 'send', words);
    expect(await ask(client, 'send', words)).toEqual(sent);
    const { payload } = await client.call('chat.history', { sessionKey: MAIN });
    expect(payload.messages).toHaveLength(1);
    const error = await refusal(client, 'send', { ...words, channel: 'telegram' });
    expect(error.message).toContain('/channel is not supported: webchat is the only channel');
  });
});
