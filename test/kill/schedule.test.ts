/**
 * kill -9 of the running program while a scheduled job is due each second. The session receives one
 * message for each due time for which the job fired. `TROUPE_KILLS=100` sets the number of kills. A
 * failing run prints its seed (`TROUPE_KILL_SEED`).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { gatewayHttp } from '../../cli/client/gateway-http.ts';
import type { ScheduleFire, ScheduleJob, ScheduleRow } from '../../protocols/schedule.ts';
import { eventually } from '../runtime/eventually.ts';
import { OWN_RUNS } from './conversations.ts';
import { randomOf } from '../random.ts';
import { TOKEN } from './program.ts';
import { TestProgram } from './test-program.ts';

const KILLS = Number(process.env['TROUPE_KILLS'] ?? 5);
const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** Longest time from ready to the kill; the job fires a few times within it. */
const KILL_WITHIN_MS = 2_500;
const SESSION = 'agent:main:cron:pulse';
const job: ScheduleJob = {
  agentId: 'main',
  when: { kind: 'every', everyMs: 1_000 },
  text: 'the pulse',
  missed: 'fire-late',
};

const program = new TestProgram(`{ ${OWN_RUNS} }`);

const http = () => gatewayHttp({ url: program.url, token: TOKEN });
const put = async (changed: ScheduleJob): Promise<void> => {
  const body = { jobId: 'pulse', job: changed };
  await (await http())({ method: 'POST', path: '/v1/schedules', body });
};
const readRow = async (): Promise<ScheduleRow> => {
  const ask = await http();
  const { schedules } = await ask<{ schedules: ScheduleRow[] }>({
    method: 'GET',
    path: '/v1/schedules',
  });
  return schedules[0]!;
};
const readRuns = async (): Promise<readonly ScheduleFire[]> => {
  const ask = await http();
  return (await ask<{ runs: ScheduleFire[] }>({ method: 'GET', path: '/v1/schedules/pulse/runs' }))
    .runs;
};

test(`a scheduled job fires once for each due time under ${KILLS} kills (seed ${SEED})`, {
  timeout: 600_000,
}, async () => {
  const random = randomOf(SEED);
  for (let round = 0; round < KILLS; round++) {
    await program.start();
    if (round === 0) await put(job);
    await pause(random() * KILL_WITHIN_MS);
    await program.kill();
  }
  await program.start();
  await eventually(async () => expect((await readRow()).fires).toBeGreaterThan(2));
  await put({ ...job, enabled: false });
  await eventually(async () => expect((await readRow()).state).toBe('off'));
  const { fires } = await readRow();
  const due = (await readRuns()).map(({ dueAt }) => dueAt!);
  expect(due, 'each due time once').toEqual([...new Set(due)]);
  const client = await program.connect();
  const { messages } = (await client.request('chat.history', {
    sessionKey: SESSION,
    limit: 1_000,
  })) as { messages: readonly { role: string }[] };
  expect(messages.filter(({ role }) => role === 'user')).toHaveLength(fires);
});
