/**
 * The suite against a cluster of processes on a real NATS server, over both transports, while a
 * worker is killed without mercy and started again: every rule is kept all the same.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NatsEndpoint } from '../../cli/conformance/nats-endpoint.ts';
import { CHECKS, runSuite } from '../../cli/conformance/suite.ts';
import type { TrialOptions } from '../../cli/conformance/trial.ts';
import { NatsClient } from '../../runtime/pubsub/nats-client.ts';
import { freePort, kill, type Program, startGateway, startWorker } from '../kill/program.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';
import { credentialsAt, faultsIn, trialOver } from './subject.ts';

const NAMES = ['ann', 'bob', 'cleo'];
/** So many rules are looked at before the kill; others are being asked then. */
const KILL_AFTER = 3;

/** As deploy/nats.conf: with less, an envelope that is too large would not get there. */
const MESSAGES = 'max_payload: 2MB';

const data = mkdtempSync(join(tmpdir(), 'troupe-conformance-cluster-'));
const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const running = new Map<string, Program>();
let nats: NatsServer;
let trial: TrialOptions;
let token: string;

const folderOf = (name: string): string => join(data, name);

/** As on machines of their own that share a folder of files. */
function configure(name: string, port: number): void {
  const config = {
    cluster: { shards: 8 },
    a2a: { publicUrl: `http://127.0.0.1:${port}`, artifacts: { path: join(data, 'artifacts') } },
  };
  mkdirSync(folderOf(name), { recursive: true });
  writeFileSync(join(folderOf(name), 'troupe.json5'), JSON.stringify(config));
}

async function work(name: string): Promise<void> {
  running.set(name, await startWorker(folderOf(name), name, nats.url));
}

async function open(): Promise<void> {
  const port = await freePort();
  nats = await startNats({ path: server!.path, config: MESSAGES });
  for (const name of [...NAMES, 'door']) configure(name, port);
  await Promise.all(NAMES.map(work));
  const door = await startGateway(folderOf('door'), port, nats.url);
  running.set('door', door);
  const credentials = await credentialsAt(folderOf('door'), door.url);
  ({ token } = credentials);
  trial = trialOver(`http://127.0.0.1:${port}`, credentials);
}

/** All checks, with one worker killed in the middle of them. */
async function runDisturbed(over: TrialOptions, victim: string) {
  let found = 0;
  let back: Promise<void> | undefined;
  const disturb = async () => {
    await kill(running.get(victim)!);
    await work(victim);
  };
  const onFinding = () => {
    if (++found === KILL_AFTER) back = disturb();
  };
  const report = await runSuite({ ...over, onFinding });
  await back;
  expect(back).toBeDefined();
  return report;
}

describe.skipIf(!server)(`a cluster of ${NAMES.length} workers${leftOut}`, () => {
  beforeAll(open, 120_000);
  afterAll(async () => {
    await Promise.all([...running.values()].map(kill));
    await nats.stop();
    rmSync(data, { recursive: true, force: true });
  });

  it('keeps every rule over HTTP while a worker is killed', { timeout: 240_000 }, async () => {
    const { findings } = await runDisturbed(trial, 'ann');
    expect(faultsIn(findings)).toEqual([]);
    expect(findings).toHaveLength(CHECKS.length);
  });

  it('keeps every rule over NATS while a worker is killed', { timeout: 240_000 }, async () => {
    const client = await NatsClient.open({ servers: [nats.url], name: 'conformance' });
    const { tenant } = trial.who;
    const { http } = trial.endpoint;
    const endpoint = new NatsEndpoint({ client, env: 'main', tenant, token: () => token, http });
    try {
      const { findings } = await runDisturbed({ ...trial, endpoint }, 'bob');
      expect(faultsIn(findings)).toEqual([]);
      expect(findings).toHaveLength(CHECKS.length);
    } finally {
      await endpoint.close();
    }
  });
});
