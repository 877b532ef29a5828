/**
 * Conversations in a cluster: the real program as two workers and a gateway on a real NATS server,
 * each with a separate data folder. Sender and receiver, parent and child run on different workers.
 * Model requests, stored data and user-visible messages are the same as in one process.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sessionAddress } from '../../actors/index.ts';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { gatewayHttp } from '../../cli/client/gateway-http.ts';
import { shardOf } from '../../protocols/address.ts';
import type { ConversationRow } from '../../protocols/conversation.ts';
import { type SubagentRow } from '../../protocols/subagent.ts';
import type { SubagentCensus } from '../../protocols/subagent-census.ts';
import { readSaid, type Said } from '../agent-runs/scripted-agents.ts';
import { connectTo } from '../kill/conversations.ts';
import { kill, type Program, startGateway, startWorker, TOKEN } from '../kill/program.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { openCluster, type StoredCluster } from '../kill/stored.ts';
import { eventually } from '../runtime/eventually.ts';
import { describeOnNats } from '../servers/describe-on-nats.ts';
import { type NatsServer, startNats } from '../servers/nats.ts';

const WORKERS = ['ann', 'bob'];
const CONFIG = {
  agents: {
    defaults: { sandbox: { mode: 'none' } },
    agents: [{ id: 'main', default: true }, { id: 'coder' }],
  },
  tools: { agentToAgent: { enabled: true } },
  cluster: { shards: 4 },
};

describeOnNats('agents that talk in a cluster', ({ path }) => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-talk-nats-'));
  const running: Program[] = [];
  let nats: NatsServer | undefined;
  let stored: StoredCluster;
  let client: GatewayClient;
  let get: <T>(path: string) => Promise<T>;

  const folderOf = (name: string): string => {
    const data = join(folder, name);
    mkdirSync(data);
    writeFileSync(join(data, 'troupe.json5'), JSON.stringify(CONFIG));
    return data;
  };

  beforeAll(async () => {
    nats = await startNats({ path });
    const { url } = nats;
    running.push(
      ...(await Promise.all(WORKERS.map((name) => startWorker(folderOf(name), name, url)))),
    );
    const gateway = await startGateway(folderOf('gateway'), await reservePort(), url);
    running.push(gateway);
    client = await connectTo(gateway.url);
    const http = await gatewayHttp({ url: gateway.url, token: TOKEN });
    get = (from) => http({ method: 'GET', path: from });
    stored = await openCluster(url);
    await eventually(() => {
      if (!WORKERS.every((name) => stored.owners().includes(name)))
        throw new Error(`the shards are not shared yet: ${stored.owners().join(', ')}`);
    });
  }, 60_000);

  afterAll(async () => {
    client?.close();
    await stored?.close();
    await Promise.all(running.map(kill));
    await nats?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  let sessions = 0;
  /** A session of that agent which lives on that worker, new each time. */
  function sessionOn(worker: string, agent: string): string {
    for (;;) {
      const key = `agent:${agent}:web-${++sessions}`;
      const shard = shardOf(sessionAddress('default', key), stored.shards);
      if (stored.owners()[shard] === worker) return key;
    }
  }
  let said = 0;
  async function say(sessionKey: string, message: string): Promise<string> {
    const params = { message, sessionKey, idempotencyKey: `said-${++said}` };
    const { result } = (await client.request('agent', params, { expectFinal: true })) as {
      result: { payloads: readonly { text: string }[] };
    };
    return result.payloads.map(({ text }) => text).join('\n');
  }
  const entriesOf = (key: string) => stored.entriesOf(sessionAddress('default', key));
  const resultsOf = async (key: string): Promise<readonly Said[]> =>
    (await entriesOf(key)).flatMap((one) => (one.type === 'tool' ? [readSaid(one.result)] : []));
  const subagentsOf = async (parent: string) => {
    const { subagents } = await get<{ subagents: SubagentRow[] }>(
      `/v1/subagents?session=${encodeURIComponent(parent)}&all=true`,
    );
    return subagents;
  };
  const conversationsOf = async (requester: string) => {
    const { conversations } = await get<{ conversations: ConversationRow[] }>('/v1/conversations');
    return conversations.filter((row) => row.requester === requester);
  };

  it('an agent asks one that lives on the other worker, and they reply to each other', async () => {
    for (const [here, there] of [WORKERS, WORKERS.toReversed()]) {
      const [asks, answers] = [sessionOn(here!, 'main'), sessionOn(there!, 'coder')];
      await say(answers, 'hello');
      const args = { sessionKey: answers, message: 'what do you think of tea? [[turns:2]]' };
      await say(asks, `call sessions_send ${JSON.stringify(args)}`);
      const [result] = await resultsOf(asks);
      expect(result).toMatchObject({ status: 'ok', delivered: true, sessionKey: answers });
      const row = await eventually(async () => {
        const [one] = await conversationsOf(asks);
        expect(one).toMatchObject({ status: 'ended', delivered: true });
        return one!;
      });
      expect(row.turns.map(({ turn }) => turn)).toEqual([0, 1, 2, 3, 'announce']);
      const at = row.turns.map(({ sessionKey }) => sessionKey);
      expect(at).toEqual([answers, asks, answers, asks, answers]);
    }
  }, 60_000);

  it('three subagents run at once on any worker, and are reported once each', async () => {
    const parent = sessionOn('ann', 'main');
    const labels = ['one', 'two', 'three'];
    const calls = labels.map(
      (label) => `call sessions_spawn ${JSON.stringify({ task: `say ${label} is done`, label })}`,
    );
    await say(parent, calls.join(' and '));
    await eventually(async () => {
      const rows = await subagentsOf(parent);
      expect(rows.map(({ status }) => status)).toEqual(labels.map(() => 'completed'));
      expect(rows.filter(({ reported }) => reported === undefined)).toEqual([]);
    });
    const heard = await eventually(async () => {
      const entries = await entriesOf(parent);
      expect(entries.at(-1)?.type).toBe('run.end');
      const texts = entries.flatMap((one) =>
        one.type === 'user' && one.origin?.kind === 'subagents' ? [one.text] : [],
      );
      for (const label of labels) expect(texts.join('\n')).toContain(`"${label}": completed`);
      return texts.join('\n');
    });
    for (const label of labels) expect(heard.split(`"${label}": completed`)).toHaveLength(2);
  }, 60_000);

  it('spawns above the limits of slots and queue are refused, and nothing is left over', async () => {
    const parent = sessionOn('bob', 'main');
    const calls = Array.from(
      { length: 26 },
      (_, n) => `call sessions_spawn ${JSON.stringify({ task: `say ${n}`, maxTokens: 2_000 })}`,
    );
    await say(parent, calls.join(' and '));
    const results = (await resultsOf(parent)).filter(
      (one) => 'childSessionKey' in one || 'rule' in one,
    );
    const refused = results.filter(({ status }) => status === 'refused');
    expect(results).toHaveLength(26);
    for (const { rule } of refused) expect(rule).toBe('waiting');
    // some may have ended before the last one was requested
    expect(refused.length).toBeLessThanOrEqual(3);
    await eventually(async () => {
      const rows = await subagentsOf(parent);
      expect(rows.filter(({ status }) => status === 'completed')).toHaveLength(26 - refused.length);
      const census = await get<SubagentCensus>('/v1/subagents/census');
      expect([census.open, census.unreported]).toEqual([[], 0]);
    });
  }, 60_000);

  it('two on different workers that wait for each other are both answered', async () => {
    const [here, there] = [sessionOn('ann', 'main'), sessionOn('bob', 'coder')];
    await Promise.all([say(here, 'hello'), say(there, 'hello')]);
    const asks = (to: string) =>
      `call sessions_send ${JSON.stringify({ sessionKey: to, message: 'say well', timeoutSeconds: 3_600 })}`;
    // an hour: if the cycle were not detected, no reply would arrive within this test
    await Promise.all([say(here, asks(there)), say(there, asks(here))]);
    const results = [...(await resultsOf(here)), ...(await resultsOf(there))];
    expect(results).toHaveLength(2);
    for (const one of results) {
      expect(['ok', 'accepted']).toContain(one['status']);
      if (one['status'] === 'accepted') expect(one['reason']).toBe('wait-cycle');
    }
    await eventually(async () => {
      const rows = [...(await conversationsOf(here)), ...(await conversationsOf(there))];
      expect(rows.map(({ status }) => status)).toEqual(['ended', 'ended']);
      for (const { turns } of rows) expect(turns[0]).toMatchObject({ status: 'ok' });
    });
  }, 60_000);

  it('a chain of messages is cut where it returns to a visited session, wherever its sessions run', async () => {
    await say('agent:main:main', 'ask coder to: ask main to: say hello');
    await eventually(async () => {
      const results = await resultsOf('agent:coder:main');
      expect(results).toMatchObject([{ status: 'refused', reason: 'loop', delivered: false }]);
    });
  }, 60_000);
});
