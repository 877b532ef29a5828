/** `/v1/schedules`: messages at later times, over real HTTP. */
import { describe, expect, it } from 'vitest';
import { defined } from '../../../protocols/defined.ts';
import type { ScheduleRow } from '../../../protocols/schedule.ts';
import { openSchedules, type ScheduleDoor, SECRET } from './schedule-server.ts';

async function call(
  { url }: ScheduleDoor,
  method: string,
  path: string,
  { body, secret = SECRET, key }: { body?: unknown; secret?: string; key?: string } = {},
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${url}/v1/schedules${path}`, {
    method,
    headers: {
      authorization: `Bearer ${secret}`,
      ...defined({ 'idempotency-key': key }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const hourly = { agentId: 'main', when: { kind: 'every', everyMs: 3_600_000 }, text: 'look' };
const set = (door: ScheduleDoor, jobId: string, job: object = hourly) =>
  call(door, 'POST', '', { body: { jobId, job } });
const listed = async (door: ScheduleDoor, query = '') =>
  ((await call(door, 'GET', query)).body['schedules'] as ScheduleRow[]).map(({ jobId }) => jobId);

describe('/v1/schedules', () => {
  it('lists the jobs that fire next first, and those of one agent', async () => {
    const door = await openSchedules();
    expect(await listed(door)).toEqual([]);
    await set(door, 'late', { ...hourly, when: { kind: 'every', everyMs: 7_200_000 } });
    await set(door, 'off', { ...hourly, enabled: false });
    await set(door, 'soon', { ...hourly, agentId: 'second' });
    expect(await listed(door)).toEqual(['soon', 'late', 'off']);
    expect(await listed(door, '?agent=second')).toEqual(['soon']);
    expect(await listed(door, '?tenant=acme')).toEqual([]);
  });

  it('replaces the job of that id, and creates an id if there is none', async () => {
    const door = await openSchedules();
    await set(door, 'a');
    expect((await set(door, 'a', { ...hourly, text: 'look again' })).body).toMatchObject({
      jobId: 'a',
      text: 'look again',
      state: 'waiting',
    });
    const { body } = await call(door, 'POST', '', { body: { job: hourly } });
    expect(body['jobId']).toMatch(/^job-/);
    expect(await listed(door)).toHaveLength(2);
  });

  it('creates no second job and starts no second run when a request is repeated under its key', async () => {
    const door = await openSchedules();
    const add = (text: string) =>
      call(door, 'POST', '', { body: { job: { ...hourly, text } }, key: 'k1' });
    const { body } = await add('look');
    expect(await add('look')).toEqual({ status: 200, body });
    expect((await add('look elsewhere')).status).toBe(409);
    expect(await listed(door)).toEqual([body['jobId']]);
    const run = () => call(door, 'POST', `/${String(body['jobId'])}/run`, { key: 'k1' });
    expect(await run()).toEqual(await run());
    const long = await call(door, 'POST', '', { body: { job: hourly }, key: 'k'.repeat(201) });
    expect(long.status).toBe(400);
  });

  it('fires, lists the runs, and removes', async () => {
    const door = await openSchedules();
    await set(door, 'a');
    const { body } = await call(door, 'POST', '/a/run');
    expect(body).toMatchObject({ sessionKey: 'agent:main:cron:a' });
    expect((await call(door, 'GET', '/a/runs')).body).toMatchObject({
      runs: [{ runId: body['runId'], status: 'running' }],
    });
    expect((await call(door, 'POST', '/a/run')).status).toBe(409);
    expect((await call(door, 'DELETE', '/a')).body).toEqual({ removed: 'a' });
    expect(await listed(door)).toEqual([]);
  });

  it.each([
    ['POST', '', { jobId: 'a b', job: hourly }, 400, /jobId/],
    ['POST', '', { job: { ...hourly, when: { kind: 'cron', expression: 'x' } } }, 400, /x \(UTC\)/],
    ['POST', '', { job: { ...hourly, agentId: 'nobody' } }, 404, /no agent nobody/],
    ['POST', '', { job: { agentId: 'main' } }, 400, /job.when is required/],
    ['POST', '', { job: { ...hourly, model: 'nope/x' } }, 400, /job.model: There is no model nope/],
    ['POST', '', { job: { ...hourly, thinking: 'ultra' } }, 400, /job.thinking: .* allowed: off/],
    [
      'POST',
      '',
      { job: { ...hourly, model: 'openai/gpt-4o', thinking: 'high' } },
      400,
      /gpt-4o has no thinking level .*allowed: off/,
    ],
    ['POST', '', { job: { ...hourly, sessionKey: 'agent:second:main' } }, 400, /job.sessionKey/],
    ['POST', '', { job: { ...hourly, sessionKey: 'garbage' } }, 400, /job.sessionKey/],
    ['POST', '/a/run', undefined, 404, /troupe cron list/],
    ['DELETE', '/a', undefined, 404, /no job a/],
    ['GET', '/a/runs', undefined, 404, /no job a/],
  ] as const)('%s %s with %j is refused in words', async (method, path, body, status, words) => {
    const door = await openSchedules();
    const answer = await call(door, method, path, { body });
    expect(answer.status).toBe(status);
    expect(JSON.stringify(answer.body)).toMatch(words);
    expect(await listed(door)).toEqual([]);
  });

  it('is for operators only', async () => {
    const door = await openSchedules();
    const secret = 'of-somebody';
    expect((await call(door, 'GET', '', { secret })).status).toBe(403);
    expect((await call(door, 'POST', '', { secret, body: { job: hourly } })).status).toBe(403);
    expect(await listed(door)).toEqual([]);
  });
});
