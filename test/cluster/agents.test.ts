/**
 * Agents in a cluster: the real program as two workers and two gateways on a real NATS server, each
 * with a separate data folder, as on separate machines. Covers the workspace of an agent whose
 * sessions run on both workers, an approval that either gateway may answer, and a schedule whose
 * worker dies.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sessionAddress } from '../../actors/index.ts';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { gatewayHttp } from '../../cli/client/gateway-http.ts';
import { type Address, shardOf } from '../../protocols/address.ts';
import { scheduleAddress, type ScheduleFire, type ScheduleRow } from '../../protocols/schedule.ts';
import type { UsageReport } from '../../protocols/usage.ts';
import { connectTo } from '../kill/conversations.ts';
import { kill, type Program, startGateway, startWorker, TOKEN } from '../kill/program.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { openCluster, type StoredCluster } from '../kill/stored.ts';
import { eventually } from '../runtime/eventually.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';

const WORKERS = ['ann', 'bob'];
const CONFIG = {
  agents: {
    defaults: { sandbox: { mode: 'none' } },
    agents: [{ id: 'main', default: true }, { id: 'scout' }],
  },
  budget: { tokensPerDay: 1_000_000 },
  tools: { exec: { allow: ['touch *', 'sleep *'] } },
  cluster: { shards: 4 },
};

const folder = mkdtempSync(join(tmpdir(), 'troupe-agents-nats-'));
const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const running = new Map<string, Program>();
let nats: NatsServer | undefined;
let stored: StoredCluster;
let first: GatewayClient;
let second: GatewayClient;

/** A hook that says on which worker a run ended. */
const signedBy = (name: string) =>
  `export default { name: 'signed', hooks: { message_sending: ({ text }) => ({ text: text + ' [by ${name}]' }) } };`;

/** As on a separate machine. */
function folderOf(name: string): string {
  const data = join(folder, name);
  mkdirSync(data);
  writeFileSync(join(data, 'troupe.json5'), JSON.stringify(CONFIG));
  mkdirSync(join(data, 'hooks'));
  writeFileSync(join(data, 'hooks', 'signed.mjs'), signedBy(name));
  return data;
}

const ownerOf = (actor: Address) => stored.owners()[shardOf(actor, stored.shards)];

/** Names of sessions that live on this worker now. */
function sessionsOn(worker: string, count: number, agent = 'main'): string[] {
  const keys: string[] = [];
  for (let n = 0; keys.length < count; n++) {
    const key = `agent:${agent}:${worker}-${n}`;
    if (ownerOf(sessionAddress('default', key)) === worker) keys.push(key);
  }
  return keys;
}

/** The reply, which contains the results of the tools. */
async function said(client: GatewayClient, sessionKey: string, message: string): Promise<string> {
  const params = { message, sessionKey, idempotencyKey: `${sessionKey} ${message}` };
  const { result } = (await client.request('agent', params, { expectFinal: true })) as {
    result: { payloads: readonly { text: string }[] };
  };
  return result.payloads.map(({ text }) => text).join('\n');
}

beforeAll(async () => {
  if (!server) return;
  nats = await startNats({ path: server.path });
  const { url } = nats;
  await Promise.all(
    WORKERS.map(async (name) => running.set(name, await startWorker(folderOf(name), name, url))),
  );
  for (const name of ['front', 'side'])
    running.set(name, await startGateway(folderOf(name), await reservePort(), url, name));
  first = await connectTo(running.get('front')!.url);
  second = await connectTo(running.get('side')!.url);
  stored = await openCluster(url);
  await eventually(() => {
    if (!WORKERS.every((name) => stored.owners().includes(name)))
      throw new Error(`the shards are not shared yet: ${stored.owners().join(', ')}`);
  });
}, 60_000);

afterAll(async () => {
  first?.close();
  second?.close();
  await stored?.close();
  await Promise.all([...running.values()].map(kill));
  await nats?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(!server)(`agents of a cluster${leftOut}`, () => {
  it('lose nothing that sessions on two workers write into one workspace at once', async () => {
    const sessions = WORKERS.flatMap((worker) => sessionsOn(worker, 3));
    const words = await Promise.all(
      sessions.map((key, n) =>
        said(n % 2 ? first : second, key, `call write {"path":"w-${n}","content":"${n}"}`),
      ),
    );
    for (const text of words) expect(text).toContain('Wrote 1 bytes');
    const read = (n: number) => said(second, sessions[n]!, `call read {"path":"w-${n}"}`);
    const texts = await Promise.all(sessions.map((_, n) => read(n)));
    for (const [n, text] of texts.entries()) expect(text).toMatch(new RegExp(`1 +${n}`));

    const list = { path: 'list', content: sessions.map((_, n) => `todo-${n}`).join(' ') };
    await said(first, sessions[0]!, `call write ${JSON.stringify(list)}`);
    const edit = (n: number) => ({
      path: 'list',
      edits: [{ oldText: `todo-${n}`, newText: `done-${n}` }],
    });
    await Promise.all(
      sessions.map((key, n) => said(second, key, `call edit ${JSON.stringify(edit(n))}`)),
    );
    const done = await said(first, sessions[0]!, 'call read {"path":"list"}');
    expect(done).toContain(sessions.map((_, n) => `done-${n}`).join(' '));
  }, 20_000);

  it('tell the model whether the files of a command were stored', async () => {
    const sessions = WORKERS.flatMap((worker) => sessionsOn(worker, 2));
    const command = (n: number) => `touch e-${n} && sleep 0.5`;
    const texts = await Promise.all(
      sessions.map((key, n) =>
        said(first, key, `call exec ${JSON.stringify({ command: command(n) })}`),
      ),
    );
    for (const [n, text] of texts.entries()) {
      expect(text, 'it ran, and its answer is there').toContain('[exit code 0]');
      const isKept = !text.includes('what it changed in the workspace is lost');
      const read = await said(second, sessions[n]!, `call read {"path":"e-${n}"}`);
      expect(read.includes('failed'), `${text}\n${read}`).toBe(!isKept);
    }
    expect(texts.some((text) => !text.includes('is lost'))).toBe(true);
  }, 20_000);

  it('accept the decision of an approval through either gateway, the first one only', async () => {
    const [session] = sessionsOn('bob', 1);
    const asked = new Promise<{ id: string }>((resolve) =>
      second.on('exec.approval.requested', resolve),
    );
    const reply = said(first, session!, 'call exec {"command":"printf allowed"}');
    const { id } = await asked;
    const words = await Promise.allSettled(
      [first, second].map((client) =>
        client.request('exec.approval.resolve', { id, decision: 'allow-once' }),
      ),
    );
    expect(words.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(await reply).toContain('allowed');
  }, 20_000);

  it('do not ask again on another worker about a command that was allowed permanently', async () => {
    const asked = new Promise<{ id: string }>((resolve) =>
      first.on('exec.approval.requested', resolve),
    );
    const command = 'call exec {"command":"printf %s for-good"}';
    const reply = said(second, sessionsOn('bob', 1)[0]!, command);
    const { id } = await asked;
    await second.request('exec.approval.resolve', { id, decision: 'allow-always' });
    expect(await reply).toContain('for-good\n[exit code 0]');
    const again = await said(first, sessionsOn('ann', 1)[0]!, command);
    expect(again).toContain('for-good\n[exit code 0]');
  }, 20_000);

  it('run the hooks of the worker that they are on, and count together for the budget', async () => {
    const http = WORKERS.map((_, n) =>
      gatewayHttp({ url: running.get(n === 0 ? 'front' : 'side')!.url, token: TOKEN }),
    );
    const reports = () =>
      Promise.all(
        http.map(async (gateway) =>
          (await gateway)<UsageReport>({ method: 'GET', path: '/v1/usage' }),
        ),
      );
    const tokensOf = ({ budget }: UsageReport) => budget?.tokensToday ?? 0;
    const before = Math.max(...(await reports()).map(tokensOf));
    for (const worker of WORKERS)
      for (const agent of ['main', 'scout']) {
        const [session] = sessionsOn(worker, 1, agent);
        expect(await said(first, session!, 'who is it?')).toContain(`[by ${worker}]`);
      }
    await eventually(async () => {
      const [front, side] = await reports();
      expect(tokensOf(front!)).toBeGreaterThan(before);
      expect(side!.budget).toEqual(front!.budget);
      const used = front!.agents.map(({ tokensToday }) => tokensToday);
      expect(tokensOf(front!)).toBe(used.reduce((sum, tokens) => sum + tokens, 0));
    });
  }, 20_000);

  it('fire each due time of a schedule once, though its worker is killed', async () => {
    const schedule = scheduleAddress('default', 'pulse');
    const http = await gatewayHttp({ url: running.get('front')!.url, token: TOKEN });
    const body = {
      jobId: 'pulse',
      job: {
        agentId: 'main',
        when: { kind: 'every', everyMs: 1_000 },
        text: 'the pulse',
        missed: 'fire-late',
      },
    };
    await http({ method: 'POST', path: '/v1/schedules', body });
    const rowOf = async () => {
      const { schedules } = await http<{ schedules: ScheduleRow[] }>({
        method: 'GET',
        path: '/v1/schedules',
      });
      return schedules.find(({ jobId }) => jobId === 'pulse')!;
    };
    await eventually(async () => expect((await rowOf()).fires).toBeGreaterThan(0));
    const victim = ownerOf(schedule)!;
    await kill(running.get(victim)!);
    const { fires: before } = await rowOf();
    await eventually(async () => expect((await rowOf()).fires).toBeGreaterThan(before + 1));
    expect(ownerOf(schedule)).not.toBe(victim);
    const off = { ...body, job: { ...body.job, enabled: false } };
    await http({ method: 'POST', path: '/v1/schedules', body: off });
    await eventually(async () => expect((await rowOf()).state).toBe('off'));
    const { fires } = await rowOf();
    const { runs } = await http<{ runs: ScheduleFire[] }>({
      method: 'GET',
      path: '/v1/schedules/pulse/runs',
    });
    const due = runs.map(({ dueAt }) => dueAt);
    expect(due, 'each due time once').toEqual([...new Set(due)]);
    const users = async () => {
      const { messages } = (await first.request('chat.history', {
        sessionKey: 'agent:main:cron:pulse',
        limit: 1_000,
      })) as { messages: readonly { role: string }[] };
      return messages.filter(({ role }) => role === 'user').length;
    };
    // messages that arrived during a run may have joined it, and none is delivered twice
    await eventually(async () => expect(await users()).toBe(fires));
  }, 20_000);
});
