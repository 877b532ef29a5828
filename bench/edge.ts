/**
 * The HTTP entry point for programs: how many envelopes a second it accepts, and how soon it
 * acknowledges them. The built program runs embedded as a separate process. This process is its
 * HTTP client on keep-alive connections, on the same cores. Every accepted task is also executed.
 *
 * A2A-Basic: a token that was verified before. A2A-External: also an Ed25519 signature per
 * envelope, made before the measurement.
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueToken } from '../channels/edge/identity/local-issuer.ts';
import { type Envelope, readEnvelope } from '../protocols/envelope.ts';
import { type Ed25519PrivateJwk, signEnvelope } from '../protocols/security/signature.ts';
import { processorTimeOf } from './harness/computer.ts';
import { type Answer, HttpLoad, requestOf } from './harness/http-load.ts';
import { PROGRAM_TOKEN, type Program, startBareServer, startProgram } from './harness/program.ts';
import { defineScenario, type Repeat } from './harness/scenario.ts';
import { spread } from './harness/statistics.ts';

/** Connections, each with its own subject and one envelope in flight. */
const CONNECTIONS = 64;
/** Enough subjects to reach each of the eight shards. */
const SHARDS_COVERED = 32;
/** An idle gateway answers all of them in a few dozen milliseconds. */
const IDLE_MS = 250;
const SETTLED_MS_MAX = 20_000;
const TENANT = 'conformance';
const RESOURCE = 'urn:troupe:a2a';
const TOKEN_TTL_SEC = 3_600;
/** Half of the gates: the rate at which latency is measured. */
const HALF = { basic: 1_500, external: 500 };

export const edge = defineScenario({
  name: 'edge',
  question: 'how many envelopes a second are accepted by HTTP, and how soon are they acknowledged?',
  needsProgram: true,
  secondsMax: 180,
  figures: {
    basicPerSecond: { label: 'A2A-Basic: accepted', unit: '1/s', limit: 'httpPerSecond' },
    basicP99Ms: { label: '  send to answer then, p99', unit: 'ms' },
    basicThreadUs: { label: '  processor time of one, JavaScript thread', unit: 'µs' },
    basicHalfAckP95Ms: { label: `  at ${HALF.basic}/s: acknowledged, p95`, unit: 'ms' },
    basicHalfP99Ms: { label: '    p99', unit: 'ms' },
    donePerSecond: { label: 'A2A-Basic: answered with the end of the task', unit: '1/s' },
    doneP99Ms: { label: '  send to answer, p99', unit: 'ms' },
    externalPerSecond: { label: 'A2A-External: accepted', unit: '1/s', limit: 'httpPerSecond' },
    externalP99Ms: { label: '  send to answer then, p99', unit: 'ms' },
    externalHalfAckP95Ms: { label: `  at ${HALF.external}/s: acknowledged, p95`, unit: 'ms' },
    externalHalfP99Ms: { label: '    p99', unit: 'ms' },
    httpPerSecond: { label: 'limit: a bare HTTP server of Node, same client', unit: '1/s' },
    checkUs: { label: 'parse and check one envelope', unit: 'µs', limit: 'parseUs' },
    parseUs: { label: '  limit: JSON.parse of it', unit: 'µs' },
  },
  async measure(repeat) {
    const { folder, pick } = repeat;
    const seconds = pick(8, 2, 0.05);
    const data = join(folder, 'data');
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'troupe.json5'), JSON.stringify(SETTINGS));
    const check = checkCost(pick(50_000, 20_000, 100));
    const httpPerSecond = await bareServer(seconds / 2);
    const program = await startProgram(folder);
    const basic = await basicSender(data);
    const external = await externalSender(data, program);
    await throughput(program.port, basic, pick(3, 1, 0.05), true);
    const before = processorTimeOf(program.pid).mainMs;
    const taken = await throughput(program.port, basic, seconds, true);
    const threadMs = processorTimeOf(program.pid).mainMs - before;
    await settled(program.port, basic);
    const half = await steady(program.port, basic, HALF.basic, repeat);
    const done = await throughput(program.port, basic, seconds, false);
    const signed = await throughput(program.port, external, seconds, true);
    await settled(program.port, basic);
    const signedHalf = await steady(program.port, external, HALF.external, repeat);
    await program.stop();
    return {
      basicPerSecond: taken.perSecond,
      basicP99Ms: taken.p99,
      basicThreadUs: (threadMs * 1_000) / taken.count,
      basicHalfAckP95Ms: half.p95,
      basicHalfP99Ms: half.p99,
      donePerSecond: done.perSecond,
      doneP99Ms: done.p99,
      externalPerSecond: signed.perSecond,
      externalP99Ms: signed.p99,
      externalHalfAckP95Ms: signedHalf.p95,
      externalHalfP99Ms: signedHalf.p99,
      httpPerSecond,
      ...check,
    };
  },
});

/** The load of a benchmark exceeds the rate limit of one principal. */
const SETTINGS = {
  a2a: {
    quota: {
      principalPerMinute: 100_000_000,
      externalPerMinute: 100_000_000,
      tenantPerMinute: 100_000_000,
    },
  },
};

/** Creates the request of an envelope; A2A-External signs it. */
type Sender = (subject: string, seq: number, isAsync: boolean) => Promise<Buffer>;

function envelopeOf(sub: string, subject: string, seq: number): Envelope {
  return {
    version: '1.0',
    request_id: randomUUID(),
    correlation_id: randomUUID(),
    causation_id: null,
    trace_id: randomUUID().replaceAll('-', ''),
    tenant_id: TENANT,
    principal: { sub, roles: ['agent'] },
    timestamp: new Date().toISOString(),
    ttl_sec: 300,
    idempotency_key: randomUUID(),
    seq,
    action: 'conformance.echo_payload',
    action_version: '1.0.0',
    payload: { schema_version: '1.0', subject, text: 'a text as people write them, not very long' },
  };
}

const tokenOf = (home: string, sub: string, external: boolean): Promise<string> =>
  issueToken(
    home,
    { sub, tenant: TENANT, roles: ['agent'], resource: RESOURCE, ttlSec: TOKEN_TTL_SEC, external },
    Date.now(),
  );

const headersOf = (token: string, isAsync: boolean): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
  ...(isAsync ? { prefer: 'respond-async' } : {}),
});

async function basicSender(home: string): Promise<Sender> {
  const token = await tokenOf(home, 'bench', false);
  return async (subject, seq, isAsync) => {
    const body = JSON.stringify(envelopeOf('bench', subject, seq));
    return requestOf('/v1/envelopes', headersOf(token, isAsync), body);
  };
}

async function externalSender(home: string, { port }: Program): Promise<Sender> {
  const sub = 'bench-external';
  const token = await tokenOf(home, sub, true);
  const pair = generateKeyPairSync('ed25519');
  const jwk = pair.privateKey.export({ format: 'jwk' }) as Ed25519PrivateJwk;
  const { d: _, ...public_jwk } = jwk;
  const answer = await fetch(`http://127.0.0.1:${port}/v1/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${PROGRAM_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ tenant: TENANT, sub, public_jwk }),
  });
  if (!answer.ok) throw new Error(`the key was not accepted: ${await answer.text()}`);
  return async (subject, seq, isAsync) => {
    const envelope = envelopeOf(sub, subject, seq);
    const headers = {
      ...headersOf(token, isAsync),
      'x-jws-signature': await signEnvelope(envelope, jwk),
    };
    return requestOf('/v1/envelopes', headers, JSON.stringify(envelope));
  };
}

function accepted({ status, body }: Answer, isAsync: boolean): void {
  const isGood = isAsync ? status === 200 || status === 202 : status === 200;
  if (!isGood) throw new Error(`the gateway answered ${status}: ${body.slice(0, 300)}`);
}

/** Closed loop. All requests that could be needed are created before the measurement. */
async function throughput(port: number, sender: Sender, seconds: number, isAsync: boolean) {
  const each = Math.ceil((seconds * 8_000) / CONNECTIONS);
  const subjects = Array.from({ length: CONNECTIONS }, () => `bench-${randomUUID()}`);
  const ready = await Promise.all(
    subjects.map((subject) =>
      Promise.all(Array.from({ length: each }, (_, n) => sender(subject, n + 1, isAsync))),
    ),
  );
  const load = await HttpLoad.open(port, CONNECTIONS);
  const samples: number[] = [];
  const begun = performance.now();
  const until = begun + seconds * 1_000;
  await Promise.all(
    ready.map(async (requests) => {
      for (const request of requests) {
        if (performance.now() > until) return;
        const answer = await load.request(request);
        accepted(answer, isAsync);
        samples.push(answer.ms);
      }
    }),
  );
  const elapsed = (performance.now() - begun) / 1_000;
  load.close();
  const { p99 } = spread(samples);
  return { count: samples.length, perSecond: samples.length / elapsed, p99 };
}

/** Open loop: an envelope is sent at its time and does not wait for earlier ones. */
async function steady(port: number, sender: Sender, perSecond: number, { pick }: Repeat) {
  const count = Math.ceil(perSecond * pick(6, 2, 0.05));
  const ready = await Promise.all(
    Array.from({ length: count }, () => sender(`bench-${randomUUID()}`, 1, true)),
  );
  const load = await HttpLoad.open(port, CONNECTIONS * 4);
  const samples: number[] = [];
  const sent: Promise<void>[] = [];
  const begun = performance.now();
  for (let at = 0; at < count; ) {
    const due = Math.min(count, Math.floor(((performance.now() - begun) * perSecond) / 1_000) + 1);
    for (; at < due; at++) sent.push(timed(load, ready[at]!, samples));
    await sleep(1);
  }
  await Promise.all(sent);
  load.close();
  const sorted = samples.toSorted((a, b) => a - b);
  return { p95: sorted[Math.ceil(sorted.length * 0.95) - 1]!, p99: spread(samples).p99 };
}

async function timed(load: HttpLoad, request: Buffer, samples: number[]): Promise<void> {
  const asked = performance.now();
  accepted(await load.request(request), true);
  samples.push(performance.now() - asked);
}

/**
 * Waits until the accepted tasks are executed: envelopes on all shards receive the end of their
 * tasks within the time of an idle gateway. A busy machine has this time limit.
 */
async function settled(port: number, sender: Sender): Promise<void> {
  for (const until = performance.now() + SETTLED_MS_MAX; performance.now() < until; ) {
    const load = await HttpLoad.open(port, SHARDS_COVERED);
    const asked = Array.from({ length: SHARDS_COVERED }, async () =>
      load.request(await sender(`bench-${randomUUID()}`, 1, false)),
    );
    const answers = await Promise.all(asked);
    load.close();
    if (answers.every(({ status, ms }) => status === 200 && ms < IDLE_MS)) return;
  }
}

async function bareServer(seconds: number): Promise<number> {
  const server = await startBareServer();
  const sender: Sender = async (subject, seq) =>
    requestOf('/', headersOf('x'.repeat(400), true), JSON.stringify(envelopeOf('b', subject, seq)));
  const { perSecond } = await throughput(server.port, sender, seconds, true);
  await server.stop();
  return perSecond;
}

function checkCost(rounds: number): { checkUs: number; parseUs: number } {
  const text = JSON.stringify(envelopeOf('bench', 'subject', 1));
  const perRound = (work: () => unknown) => {
    for (let n = 0; n < rounds / 10; n++) work();
    const begun = performance.now();
    for (let n = 0; n < rounds; n++) work();
    return ((performance.now() - begun) * 1_000) / rounds;
  };
  return { checkUs: perRound(() => readEnvelope(text)), parseUs: perRound(() => JSON.parse(text)) };
}
