/**
 * `/v1/decisions`: effects with an unknown outcome, and operators' decisions, over real HTTP and as
 * a command.
 */
import { describe, expect, it } from 'vitest';
import { type Desk, type Job, openDesk } from '../../actors/task/task-service.ts';
import { runProgram } from '../../cli/program.ts';
import { operatorWithSecret, SECRET, serveRoutes, testOperations } from './operation-server.ts';

async function openDoor({ world: { system } }: Desk): Promise<string> {
  const { url } = await serveRoutes(
    testOperations({ system, installation: operatorWithSecret('t') }),
  );
  return url;
}

async function call(url: string, path: string, body?: unknown, secret = SECRET) {
  const response = await fetch(`${url}/v1/decisions${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** Work of class `once` that started on a worker that was lost afterwards. */
async function loseWork(): Promise<{ desk: Desk; job: Job; url: string }> {
  const desk = await openDesk(() => ({ class: 'once' }));
  const job = desk.job();
  await job.view();
  await desk.work.began(1);
  await desk.world.restart();
  await job.is({ state: 'UNKNOWN' });
  return { desk, job, url: await openDoor(desk) };
}

describe('/v1/decisions', () => {
  it('lists tasks with an unknown outcome, until an operator decides that they were done', async () => {
    const { job, url, desk } = await loseWork();
    expect((await call(url, '')).body['tasks']).toMatchObject([
      { task_id: job.id, state: 'UNKNOWN', waiting: { for: 'decision' } },
    ]);
    const done = { decision: 'done', why: 'I saw it', result: { found: true } };
    expect((await call(url, `/${job.id}`, done)).status).toBeLessThan(300);
    expect((await job.is({ state: 'SUCCEEDED' })).result).toEqual({ found: true });
    expect((await job.view()).decisions).toEqual([
      {
        decision: 'done',
        who: 'op',
        why: 'I saw it (op)',
        at: expect.stringMatching(/^20.*Z$/) as string,
      },
    ]);
    expect(desk.work.all).toHaveLength(1);
    expect((await call(url, '')).body['tasks']).toEqual([]);
    expect(await call(url, `/${job.id}`, done)).toMatchObject({
      status: 409,
      body: { error: { code: 'CONFLICT' } },
    });
  });

  it('stores who decided, and why', async () => {
    const { job, url } = await loseWork();
    expect(
      await call(url, `/${job.id}?tenant=t`, { decision: 'failed', why: 'never paid' }),
    ).toMatchObject({
      status: 200,
      body: { state: 'FAILED', error: { message: expect.stringContaining('never paid (op)') } },
    });
  });

  it('explains an invalid request, and decides nothing for callers that are not operators', async () => {
    const { job, url } = await loseWork();
    const decide = (body: unknown, path = `/${job.id}`, secret = SECRET) =>
      call(url, path, body, secret);
    expect((await decide({ decision: 'perhaps', why: 'x' })).status).toBe(400);
    expect((await decide({ decision: 'done' })).status).toBe(400);
    expect((await decide({ decision: 'done', why: 'x' }, `/${job.id}?tenant=T T`)).status).toBe(
      400,
    );
    expect((await decide({ decision: 'done', why: 'x' }, '/unknown')).status).toBe(404);
    expect((await decide({ decision: 'done', why: 'x' }, `/${job.id}?tenant=u`)).status).toBe(404);
    expect((await decide({ decision: 'done', why: 'x' }, `/${job.id}`, 'mine')).status).toBe(403);
    expect((await call(url, '', undefined, 'mine')).status).toBe(403);
    expect(job.row()?.view.state).toBe('UNKNOWN');
  });
});

it('troupe decisions lists pending decisions and sends the answer', async () => {
  const { job, url } = await loseWork();
  const decisions = (...args: string[]) =>
    runProgram([
      'decisions',
      ...args,
      '--url',
      url.replace('http:', 'ws:'),
      '--token',
      SECRET,
      '--tenant',
      't',
    ]);
  const { stdout } = await decisions('list');
  expect(stdout).toContain(job.id);
  expect(stdout).toContain('Find out whether the work was done');
  const answered = await decisions('answer', job.id, 'done', '--why', 'seen', '--result', '[1]');
  expect(answered).toMatchObject({ code: 0, stdout: expect.stringContaining(job.id) });
  expect((await job.is({ state: 'SUCCEEDED' })).result).toEqual([1]);
  expect(await decisions('list')).toMatchObject({ stdout: 'no task waits for a decision\n' });
  expect((await decisions('answer', job.id, 'perhaps', '--why', 'x')).code).toBe(2);
});
