/**
 * Messengers and a schedule while processes are in read-only mode, embedded and in a cluster: what
 * people write meanwhile is answered afterwards, once, and the schedule waits. The
 * mode is made by a threshold above the free space, which takes effect while the program runs.
 */
import { statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { gatewayHttp } from '../../cli/client/gateway-http.ts';
import type { ScheduleRow } from '../../protocols/schedule.ts';
import { randomOf } from '../random.ts';
import { eventually } from '../runtime/eventually.ts';
import { connectTo } from './conversations.ts';
import { People } from './people.ts';
import { TOKEN } from './program.ts';
import { describeWithNats, TestCluster } from './test-cluster.ts';
import { TestProgram } from './test-program.ts';

const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const WORKERS = ['ann', 'bob'];
const random = randomOf(SEED);

/** A threshold is at most 90 % of a disk. */
const { bavail, blocks } = statfsSync(tmpdir());
const isTooEmpty = bavail / blocks > 0.88;
const title = `(seed ${SEED}; skipped where 88 % of the disk are free)`;

const disk = (readOnlyBytes: number) =>
  `runtime: { disk: { warnPercent: 90, readOnlyPercent: 90, readOnlyBytes: ${readOnlyBytes} } },`;
const [WRITABLE, READ_ONLY] = [disk(0), disk(2 ** 50)];

const send = (url: string) => async (key: string) => {
  const client = await connectTo(url);
  const message = { sessionKey: 'agent:main:probe', message: 'Is there room?' };
  try {
    return await client.request('chat.send', { ...message, idempotencyKey: key });
  } finally {
    client.close();
  }
};

async function requestSchedules<T>(url: string, body?: object): Promise<T> {
  const request = await gatewayHttp({ url, token: TOKEN });
  const method = body ? ('POST' as const) : ('GET' as const);
  return request<T>({ method, path: '/v1/schedules', ...(body && { body }) });
}

async function firesAt(url: string): Promise<number> {
  const { schedules } = await requestSchedules<{ schedules: ScheduleRow[] }>(url);
  return schedules[0]?.fires ?? 0;
}

/** Of a running installation. @param configure writes the configuration of each process */
async function waitsThroughReadOnly(
  url: string,
  people: People,
  configure: (more: string) => void,
): Promise<number> {
  await people.connected(url);
  const job = { agentId: 'main', when: { kind: 'every', everyMs: 1_000 }, text: 'the pulse' };
  await requestSchedules(url, { jobId: 'pulse', job });
  await eventually(async () => expect(await firesAt(url)).toBeGreaterThan(0), 20_000);
  await people.writeFor(500);

  configure(READ_ONLY);
  const full = { details: expect.objectContaining({ reason: 'DISK_FULL' }) };
  let probe = 0;
  await eventually(
    () => expect(send(url)(`before-${(probe += 1)}`)).rejects.toMatchObject(full),
    30_000,
  );
  await people.writeFor(2_000);
  // Every process has read its configuration, and a fire that had begun is counted.
  await pause(3_000);
  const before = await firesAt(url);
  await pause(3_000);
  expect(await firesAt(url)).toBe(before);
  await expect(send(url)('refused')).rejects.toMatchObject(full);

  configure(WRITABLE);
  await eventually(async () => expect(await firesAt(url)).toBeGreaterThan(before), 30_000);
  await people.writeFor(500);
  const client = await connectTo(url);
  const answered = await people.account(client, false);
  client.close();
  return answered;
}

const ofProgram = await People.of(random, 1);
const program = new TestProgram(ofProgram.config(WRITABLE));

test.skipIf(isTooEmpty)(
  `read-only mode: messengers deliver again and schedules wait ${title}`,
  { timeout: 240_000 },
  async () => {
    await program.start();
    const answered = await waitsThroughReadOnly(program.url, ofProgram, (more) =>
      writeFileSync(join(program.data, 'troupe.json5'), ofProgram.config(more)),
    );
    expect(answered).toBeGreaterThan(20);
  },
);

const ofCluster = await People.of(random, 1);
const configOfCluster = (more: string) => ofCluster.config(`cluster: { shards: 4 }, ${more}`);
const cluster = new TestCluster(configOfCluster(WRITABLE));

describeWithNats(`with ${WORKERS.length} workers`, () => {
  test.skipIf(isTooEmpty)(
    `read-only mode: messengers deliver again and schedules wait ${title}`,
    { timeout: 240_000 },
    async () => {
      await cluster.start(WORKERS);
      const answered = await waitsThroughReadOnly(cluster.url, ofCluster, (more) => {
        for (const name of [...WORKERS, 'gateway'])
          writeFileSync(join(cluster.folder, name, 'troupe.json5'), configOfCluster(more));
      });
      expect(answered).toBeGreaterThan(20);
    },
  );
});
