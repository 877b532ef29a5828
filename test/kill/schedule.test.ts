/**
 * kill -9 of the running program while a job fires each second: every due time that was fired for
 * reached the session once, however the program died. `TROUPE_KILLS=100` kills more often; a
 * failing run prints its seed (`TROUPE_KILL_SEED`).
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { gatewayHttp } from '../../cli/client/gateway-http.ts';
import type { ScheduleFire, ScheduleJob, ScheduleRow } from '../../protocols/schedule.ts';
import { eventually } from '../runtime/eventually.ts';
import { connectTo, OWN_RUNS, randomOf } from './conversations.ts';
import { freePort, kill, type Program, startProgram, TOKEN } from './program.ts';

const KILLS = Number(process.env['TROUPE_KILLS'] ?? 5);
const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** A kill comes so long after the program was ready, at most: some fires later. */
const KILL_WITHIN_MS = 2_500;
const SESSION = 'agent:main:cron:pulse';
const job: ScheduleJob = {
  agentId: 'main',
  when: { kind: 'every', everyMs: 1_000 },
  text: 'the pulse',
  missed: 'fire-late',
};

const data = mkdtempSync(join(tmpdir(), 'troupe-kill-schedule-'));
writeFileSync(join(data, 'troupe.json5'), `{ ${OWN_RUNS} }`);
let running: Program | undefined;

afterAll(async () => {
  if (running) await kill(running);
  rmSync(data, { recursive: true, force: true });
});

const http = ({ url }: Program) => gatewayHttp({ url, token: TOKEN });
const rowOf = async (program: Program): Promise<ScheduleRow> => {
  const ask = await http(program);
  const { schedules } = await ask<{ schedules: ScheduleRow[] }>({
    method: 'GET',
    path: '/v1/schedules',
  });
  return schedules[0]!;
};
const runsOf = async (program: Program): Promise<readonly ScheduleFire[]> => {
  const ask = await http(program);
  return (await ask<{ runs: ScheduleFire[] }>({ method: 'GET', path: '/v1/schedules/pulse/runs' }))
    .runs;
};

test(`${KILLS} kills -9 fire no due time twice and lose none (seed ${SEED})`, {
  timeout: 600_000,
}, async () => {
  const random = randomOf(SEED);
  const port = await freePort();
  for (let round = 0; round < KILLS; round++) {
    running = await startProgram(data, port);
    if (round === 0) {
      const body = { jobId: 'pulse', job };
      await (await http(running))({ method: 'POST', path: '/v1/schedules', body });
    }
    await new Promise((resolve) => setTimeout(resolve, random() * KILL_WITHIN_MS));
    await kill(running);
    running = undefined;
  }
  running = await startProgram(data, port);
  const alive = running;
  await eventually(async () => expect((await rowOf(alive)).fires).toBeGreaterThan(2));
  await (await http(alive))({
    method: 'POST',
    path: '/v1/schedules',
    body: { jobId: 'pulse', job: { ...job, enabled: false } },
  });
  await eventually(async () => expect((await rowOf(alive)).state).toBe('off'));
  const { fires } = await rowOf(alive);
  const due = (await runsOf(alive)).map(({ dueAt }) => dueAt!);
  expect(due, 'each due time once').toEqual([...new Set(due)]);
  const client = await connectTo(alive.url);
  const { messages } = (await client.request('chat.history', {
    sessionKey: SESSION,
    limit: 1_000,
  })) as { messages: readonly { role: string }[] };
  client.close();
  expect(messages.filter(({ role }) => role === 'user')).toHaveLength(fires);
});
