/** `/v1/schedules`: messages at later times, over real HTTP. */
import { describe, expect, it } from 'vitest';
import { defined } from '../../../protocols/defined.ts';
import type { ScheduleRow } from '../../../protocols/schedule.ts';
import { openSchedules, type ScheduleServer, SECRET } from './schedule-server.ts';

async function call(
  { url }: ScheduleServer,
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
const set = (server: ScheduleServer, jobId: string, job: object = hourly) =>
  call(server, 'POST', '', { body: { jobId, job } });
const listed = async (server: ScheduleServer, query = '') =>
  ((await call(server, 'GET', query)).body['schedules'] as ScheduleRow[]).map(({ jobId }) => jobId);

describe('/v1/schedules', () => {
  it('lists the jobs that fire next first, and those of one agent', async () => {
    const server = await openSchedules();
    expect(await listed(server)).toEqual([]);
    await set(server, 'late', { ...hourly, when: { kind: 'every', everyMs: 7_200_000 } });
    await set(server, 'off', { ...hourly, enabled: false });
    await set(server, 'soon', { ...hourly, agentId: 'second' });
    expect(await listed(server)).toEqual(['soon', 'late', 'off']);
    expect(await listed(server, '?agent=second')).toEqual(['soon']);
    expect(await listed(server, '?tenant=acme')).toEqual([]);
  });

  it('replaces the job of that id, and creates an id if there is none', async () => {
    const server = await openSchedules();
    await set(server, 'a');
    expect((await set(server, 'a', { ...hourly, text: 'look again' })).body).toMatchObject({
      jobId: 'a',
      text: 'look again',
      state: 'waiting',
    });
    const { body } = await call(server, 'POST', '', { body: { job: hourly } });
    expect(body['jobId']).toMatch(/^job-/);
    expect(await listed(server)).toHaveLength(2);
  });

  it('creates no second job and starts no second run when a request is repeated under its key', async () => {
    const server = await openSchedules();
    const add = (text: string) =>
      call(server, 'POST', '', { body: { job: { ...hourly, text } }, key: 'k1' });
    const { body } = await add('look');
    expect(await add('look')).toEqual({ status: 200, body });
    expect((await add('look elsewhere')).status).toBe(409);
    expect(await listed(server)).toEqual([body['jobId']]);
    const run = () => call(server, 'POST', `/${String(body['jobId'])}/run`, { key: 'k1' });
    expect(await run()).toEqual(await run());
    const long = await call(server, 'POST', '', { body: { job: hourly }, key: 'k'.repeat(201) });
    expect(long.status).toBe(400);
  });

  it('fires, lists the runs, and removes', async () => {
    const server = await openSchedules();
    await set(server, 'a');
    const { body } = await call(server, 'POST', '/a/run');
    expect(body).toMatchObject({ sessionKey: 'agent:main:cron:a' });
    expect((await call(server, 'GET', '/a/runs')).body).toMatchObject({
      runs: [{ runId: body['runId'], status: 'running' }],
    });
    expect((await call(server, 'POST', '/a/run')).status).toBe(409);
    expect((await call(server, 'DELETE', '/a')).body).toEqual({ removed: 'a' });
    expect(await listed(server)).toEqual([]);
  });

  it.each([
    ['POST', '', { jobId: 'a b', job: hourly }, 400, /jobId/],
    ['POST', '', { job: { ...hourly, when: { kind: 'cron', expression: 'x' } } }, 400, /x \(UTC\)/],
    ['POST', '', { job: { ...hourly, agentId: 'unknown' } }, 404, /no agent unknown/],
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
  ] as const)(
    '%s %s with %j is refused with a text that names the fault',
    async (method, path, body, status, words) => {
      const server = await openSchedules();
      const answer = await call(server, method, path, { body });
      expect(answer.status).toBe(status);
      expect(JSON.stringify(answer.body)).toMatch(words);
      expect(await listed(server)).toEqual([]);
    },
  );

  it('is for operators only', async () => {
    const server = await openSchedules();
    const secret = 'of-another-program';
    expect((await call(server, 'GET', '', { secret })).status).toBe(403);
    expect((await call(server, 'POST', '', { secret, body: { job: hourly } })).status).toBe(403);
    expect(await listed(server)).toEqual([]);
  });
});
