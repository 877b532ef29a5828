/**
 * A thousand conversations at once with a model that takes one second: how much of the time until
 * the last end troupe adds. Once with the offline model, and once with a provider's real SDK over
 * HTTP to a server in this process. Also the memory of the program after many runs.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayClient } from '../client/gateway-client.ts';
import { startModelServer } from '../test/servers/model-server.ts';
import { memoryOf } from './harness/computer.ts';
import { startProgram } from './harness/program.ts';
import { defineScenario } from './harness/scenario.ts';
import { inParallel } from './harness/system.ts';

const MODEL_MS = 1_000;
/** Four tokens at four tokens a second. */
const OFFLINE = { message: '[[words:4]] [[pace:4]]' };
const BY_SDK = { message: 'say something', model: 'served/model' };
const RUNS_AT_ONCE = 100;
/** After which an idle program has collected its garbage: three checks of five seconds. */
const IDLE_MS = 18_000;
/** After that, its actors have left memory, and it has collected their garbage. */
const PASSIVE_MS = 92_000;

export const crowd = defineScenario({
  name: 'crowd',
  question: 'how soon are 1,000 sessions answered at once, and what memory do many runs keep?',
  needsProgram: true,
  secondsMax: 340,
  figures: {
    offlineS: { label: 'all answered, offline model that takes 1 s', unit: 's', limit: 'modelS' },
    sdkS: { label: 'all answered, model of 1 s by SDK and HTTP', unit: 's', limit: 'modelS' },
    modelS: { label: '  limit: the model alone', unit: 's' },
    failed: { label: 'runs that failed', unit: 'count' },
    restedMb: { label: 'memory after the first fifth of the runs', unit: 'MB' },
    grownMb: { label: '  grown after all of them', unit: 'MB' },
    idleMb: { label: '  when it was idle after that', unit: 'MB' },
    passiveMb: { label: '  and its sessions were passive', unit: 'MB' },
  },
  async measure({ folder, pick }) {
    const server = await startModelServer({ api: 'openai-completions', delayMs: MODEL_MS });
    configure(folder, server.baseUrl);
    const program = await startProgram(folder);
    const client = await program.connect();
    const size = pick(1_000, 1_000, 10);
    const all = { failed: 0 };
    try {
      await together(client, pick(200, 200, 5), { message: 'echo ok' }, all);
      const offlineS = await together(client, size, OFFLINE, all);
      const sdkS = await together(client, size, BY_SDK, all);
      const runs = pick(10_000, 2_000, 20);
      await many(client, runs / 5, all);
      const restedMb = memoryOf(program.pid, 'RssAnon');
      await many(client, (runs * 4) / 5, all);
      const grownMb = Math.max(0, memoryOf(program.pid, 'RssAnon') - restedMb);
      await sleep(pick(IDLE_MS, IDLE_MS, 10));
      const idleMb = memoryOf(program.pid, 'RssAnon');
      await sleep(pick(PASSIVE_MS, PASSIVE_MS, 10));
      const passiveMb = memoryOf(program.pid, 'RssAnon');
      const memory = { restedMb, grownMb, idleMb, passiveMb };
      return { offlineS, sdkS, modelS: MODEL_MS / 1_000, ...all, ...memory };
    } finally {
      client.close();
      await program.stop();
      await server.close();
    }
  },
});

function configure(folder: string, url: string): void {
  const served = {
    api: 'openai-completions',
    baseUrl: url,
    apiKey: 'no-secret',
    models: [{ id: 'model' }],
  };
  // The agents' default model stays the offline one; requests name the served one.
  const config = {
    models: { providers: { served } },
    agents: { defaults: { model: 'offline/troupe-offline' } },
  };
  mkdirSync(join(folder, 'data'), { recursive: true });
  writeFileSync(join(folder, 'data', 'troupe.json5'), JSON.stringify(config));
}

type Asked = { readonly message: string; readonly model?: string };

/** One run in each of this number of new sessions, all sent at once; seconds until the last end. */
async function together(
  client: GatewayClient,
  sessions: number,
  asked: Asked,
  all: { failed: number },
): Promise<number> {
  const roundId = randomUUID();
  const begun = performance.now();
  await inParallel(sessions, sessions, (at) => one(client, `${roundId}-${at}`, asked, all));
  return (performance.now() - begun) / 1_000;
}

const many = (client: GatewayClient, runs: number, all: { failed: number }): Promise<void> =>
  inParallel(runs, RUNS_AT_ONCE, (at) =>
    one(client, `many-${at % RUNS_AT_ONCE}`, { message: 'echo ok' }, all),
  );

async function one(
  client: GatewayClient,
  sessionKey: string,
  asked: Asked,
  all: { failed: number },
): Promise<void> {
  const params = { ...asked, sessionKey, idempotencyKey: randomUUID() };
  const { status } = await client.request('agent', params, { expectFinal: true });
  if (status !== 'ok') all.failed++;
}
