/**
 * The suite against a cluster of processes on a real NATS server, over both transports, while one
 * worker after the other is killed and restarted: every rule must hold.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Http } from '../../conformance/endpoint.ts';
import { NatsEndpoint } from '../../conformance/nats-endpoint.ts';
import { CONFORMANCE_TENANT } from '../../conformance/agent/actions.ts';
import { CHECKS, type Finding, runSuite } from '../../conformance/suite.ts';
import type { TrialOptions } from '../../conformance/trial.ts';
import { newSealingKey } from '../../protocols/security/sealed.ts';
import { NatsClient } from '../../runtime/pubsub/nats-client.ts';
import { shippedConfig } from '../deploy/shipped-config.ts';
import { runProgram } from '../cli/program.ts';
import { kill, type Program, startGateway, startWorker, TOKEN } from '../kill/program.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';
import { OVER_HTTP } from './over-http.ts';
import { ALONE } from './proof.ts';
import { credentialsAt, faultsIn, trialOver } from './subject.ts';

const NAMES = ['ann', 'bob', 'cleo'];
/** Number of reported rules before the first kill; other checks are running then. */
const KILL_AFTER = 3;

/** The users of deploy/nats.conf: the cluster's own, and an external program. */
const PASSWORDS = { TROUPE_NATS_PASSWORD: 'of-the-cell', ACME_NATS_PASSWORD: 'of-a-tenant' };
const TENANT = CONFORMANCE_TENANT;

const data = mkdtempSync(join(tmpdir(), 'troupe-conformance-cluster-'));
const SEALING_KEY = join(data, 'sealing.jwk');
const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
const running = new Map<string, Program>();
let nats: NatsServer | undefined;
let trial: TrialOptions;
let token: string;
let origin: string;

const folderOf = (name: string): string => join(data, name);

/** Simulates separate machines that share a folder of files and the decryption key. */
function configure(name: string, port: number): void {
  const config = {
    cluster: { shards: 8 },
    nats: { user: 'troupe', password: PASSWORDS.TROUPE_NATS_PASSWORD },
    a2a: {
      publicUrl: `http://127.0.0.1:${port}`,
      artifacts: { path: join(data, 'artifacts') },
      sealingKeyFile: SEALING_KEY,
    },
  };
  mkdirSync(folderOf(name), { recursive: true });
  writeFileSync(join(folderOf(name), 'troupe.json5'), JSON.stringify(config));
}

async function work(name: string): Promise<void> {
  running.set(name, await startWorker(folderOf(name), name, nats!.url));
}

async function open(): Promise<void> {
  const port = await reservePort();
  Object.assign(process.env, PASSWORDS);
  // The user of the tenant `acme`, renamed, because only one tenant may use the suite's actions.
  const acme = shippedConfig(['acme'], { store: join(data, 'nats') });
  const config = acme.replaceAll(/\bacme\b/g, TENANT);
  nats = await startNats({ path: server!.path, config });
  writeFileSync(SEALING_KEY, JSON.stringify(await newSealingKey()), { mode: 0o600 });
  for (const name of [...NAMES, 'gateway']) configure(name, port);
  await Promise.all(NAMES.map(work));
  const gateway = await startGateway(folderOf('gateway'), port, nats.url);
  running.set('gateway', gateway);
  const credentials = await credentialsAt(folderOf('gateway'), gateway.url, TENANT);
  ({ token } = credentials);
  origin = `http://127.0.0.1:${port}`;
  trial = trialOver(origin, credentials);
}

/**
 * Runs all checks. After the first results every worker is killed, the next one when the previous
 * is back.
 */
async function runDisturbed(over: TrialOptions): Promise<readonly Finding[]> {
  let found = 0;
  let disturbed: Promise<void> | undefined;
  const disturb = async () => {
    for (const name of NAMES) {
      await kill(running.get(name)!);
      await work(name);
    }
  };
  const onFinding = () => {
    if (++found === KILL_AFTER) disturbed = disturb();
  };
  const { findings } = await runSuite({ ...over, onFinding });
  expect(disturbed).toBeDefined();
  await disturbed;
  // Response times are not guaranteed while workers are killed.
  const late = findings.filter(({ id, verdict }) => verdict === 'broken' && ALONE.includes(id));
  const only = late.map(({ id }) => id);
  const again = only.length > 0 ? await runSuite({ ...over, only }) : { findings: [] };
  return [...findings.filter((finding) => !late.includes(finding)), ...again.findings];
}

describe.skipIf(!server)(`a cluster of ${NAMES.length} workers${leftOut}`, () => {
  beforeAll(open, 120_000);
  afterAll(async () => {
    await Promise.all([...running.values()].map(kill));
    await nats?.stop();
    rmSync(data, { recursive: true, force: true });
  });

  it('keeps every rule over HTTP while one worker after the other is killed', {
    timeout: 240_000,
  }, async () => {
    const findings = await runDisturbed(trial);
    expect(faultsIn(findings)).toEqual([]);
    expect(findings).toHaveLength(CHECKS.length);
  });

  const overNats = async (http?: Http): Promise<NatsEndpoint> => {
    const client = await NatsClient.open({
      servers: [nats!.url],
      user: TENANT,
      pass: PASSWORDS.ACME_NATS_PASSWORD,
      inboxPrefix: `_INBOX.${TENANT}`,
    });
    const endpoint = { client, env: 'main', tenant: TENANT, token: () => token, http };
    const opened = new NatsEndpoint(endpoint);
    onTestFinished(() => opened.close());
    return opened;
  };

  it('keeps every rule over NATS while one worker after the other is killed', {
    timeout: 240_000,
  }, async () => {
    const endpoint = await overNats(trial.endpoint.http);
    const findings = await runDisturbed({ ...trial, endpoint });
    expect(faultsIn(findings)).toEqual([]);
    expect(findings).toHaveLength(CHECKS.length);
  });

  it('keeps the rules that need no HTTP over NATS alone', { timeout: 120_000 }, async () => {
    const { findings } = await runSuite({ ...trial, endpoint: await overNats() });
    const skipped = findings.filter(({ verdict }) => verdict === 'skipped').map(({ id }) => id);
    expect(skipped).toEqual(OVER_HTTP);
    expect(faultsIn(findings)).toHaveLength(OVER_HTTP.length);
  });

  it('can be checked by the command over both transports', { timeout: 120_000 }, async () => {
    const { port } = new URL(origin);
    const { code, stdout, stderr } = await runProgram(
      ['conformance', nats!.url, '--http', origin, '--tenant', TENANT, '--only', 'e', '--json'],
      { env: { TROUPE_HOME: folderOf('gateway'), TROUPE_PORT: port, TROUPE_TOKEN: TOKEN } },
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const report = JSON.parse(stdout) as { transport: string; findings: Finding[] };
    expect(report.transport).toBe('nats');
    expect(faultsIn(report.findings)).toEqual([]);
    expect(report.findings.map(({ id }) => id)).toContain('evidence.record');
  });
});
