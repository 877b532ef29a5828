/**
 * MCP: calls of a tool a second, and how long one takes. The built program runs embedded as a
 * separate process; the tool is an action of the conformance agent, so each call is a durable task
 * that is executed. This process is the HTTP client, on the same cores.
 *
 * The same client calls a bare server of the same SDK, and sends the same work as envelopes. They
 * alternate in short rounds, so that other load of the machine affects all alike. With callers that
 * wait for their answers, rate and duration are one figure: a call of 16 takes at least 16 times as
 * long as the program needs for one. So both are measured with fewer callers, too, and at a fixed
 * rate.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { issueToken } from '../channels/edge/identity/local-issuer.ts';
import { ownThreadUs, processorTimeOf } from './harness/computer.ts';
import { type Answer, HttpLoad, requestOf } from './harness/http-load.ts';
import { atPace } from './harness/pace.ts';
import { type Program, startMcpServer, startProgram } from './harness/program.ts';
import { defineScenario } from './harness/scenario.ts';
import { median, spread } from './harness/statistics.ts';

/** Callers, each with one call in flight on its own connection; and fewer. */
const CALLERS = 16;
const FEWER = [8, 4, 1] as const;
/** The fixed rate, and connections enough for it. */
const OPEN_PER_SECOND = 500;
const OPEN_CONNECTIONS = 64;
const TENANT = 'conformance';
const TOOL = 'conformance__echo_payload-v1';
const TEXT = 'a text as people write them, not very long';
/** Revision 2026-07-28, which has no sessions. */
const STATELESS = '2026-07-28';
/** Revision 2025-11-25, with sessions. */
const SESSIONS = '2025-11-25';

export const mcp = defineScenario({
  name: 'mcp',
  question: 'how many durable tools a second are called by MCP, and how long does a call take?',
  needsProgram: true,
  secondsMax: 240,
  figures: {
    callsPerSecond: { label: 'tools called, 16 callers', unit: '1/s', limit: 'barePerSecond' },
    p50Ms: { label: '  call to result, p50', unit: 'ms', limit: 'bareP50Ms' },
    p99Ms: { label: '  p99', unit: 'ms', limit: 'bareP99Ms' },
    threadUs: {
      label: '  processor time of one, JavaScript thread',
      unit: 'µs',
      limit: 'bareThreadUs',
    },
    clientUs: { label: '  the same of the client, on the same cores', unit: 'µs' },
    ofBare: { label: '  share of the bare server, by round', unit: 'ratio' },
    callsOf8: { label: 'tools called, 8 callers', unit: '1/s', limit: 'bareOf8' },
    p99MsOf8: { label: '  p99', unit: 'ms', limit: 'bareP99MsOf8' },
    callsOf4: { label: 'tools called, 4 callers', unit: '1/s', limit: 'bareOf4' },
    p99MsOf4: { label: '  p99', unit: 'ms', limit: 'bareP99MsOf4' },
    callsOf1: { label: 'tools called, 1 caller', unit: '1/s', limit: 'bareOf1' },
    p99MsOf1: { label: '  p99', unit: 'ms', limit: 'bareP99MsOf1' },
    openP50Ms: { label: '500 calls a second, p50', unit: 'ms', limit: 'bareOpenP50Ms' },
    openP99Ms: { label: '  p99', unit: 'ms', limit: 'bareOpenP99Ms' },
    sessionPerSecond: { label: 'the same in sessions of 2025, 16 callers', unit: '1/s' },
    sessionP99Ms: { label: '  p99', unit: 'ms' },
    envelopesPerSecond: { label: 'the same work by envelopes, 16 callers', unit: '1/s' },
    envelopeP99Ms: { label: '  send to answer, p99', unit: 'ms' },
    envelopeThreadUs: { label: '  processor time of one, JavaScript thread', unit: 'µs' },
    barePerSecond: { label: 'limit: a bare server of the SDK, 16 callers', unit: '1/s' },
    bareP50Ms: { label: '  call to result, p50', unit: 'ms' },
    bareP99Ms: { label: '  p99', unit: 'ms' },
    bareThreadUs: { label: '  processor time of one, JavaScript thread', unit: 'µs' },
    bareOf8: { label: 'limit: the bare server, 8 callers', unit: '1/s' },
    bareP99MsOf8: { label: '  p99', unit: 'ms' },
    bareOf4: { label: 'limit: the bare server, 4 callers', unit: '1/s' },
    bareP99MsOf4: { label: '  p99', unit: 'ms' },
    bareOf1: { label: 'limit: the bare server, 1 caller', unit: '1/s' },
    bareP99MsOf1: { label: '  p99', unit: 'ms' },
    bareOpenP50Ms: { label: 'limit: the bare server, 500 calls a second, p50', unit: 'ms' },
    bareOpenP99Ms: { label: '  p99', unit: 'ms' },
  },
  async measure({ folder, pick }) {
    const data = join(folder, 'data');
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'troupe.json5'), JSON.stringify(SETTINGS));
    const [program, bareServer] = [await startProgram(folder), await startMcpServer()];
    const token = await tokenOf(data);
    const targets = {
      bare: { of: bareServer, next: () => callOf('x'.repeat(400), 'echo') },
      calls: { of: program, next: () => callOf(token, TOOL) },
      envelopes: { of: program, next: (caller: number, n: number) => envelope(token, caller, n) },
      sessions: await sessionTarget(program, token),
    } satisfies Record<string, Target>;
    const seconds = pick(2, 1, 0.1);
    for (const target of Object.values(targets)) await round(target, CALLERS, pick(3, 1, 0.1));
    const rounds: Rounds[] = [];
    for (let n = 0; n < pick(6, 3, 1); n++) {
      const one: Partial<Rounds> = {};
      for (const [name, target] of Object.entries(targets))
        one[name as keyof typeof targets] = await round(target, CALLERS, seconds);
      for (const callers of [...FEWER, 'open'] as const) {
        one[`bare ${callers}`] = await round(targets.bare, callers, seconds / 2);
        one[`calls ${callers}`] = await round(targets.calls, callers, seconds / 2);
      }
      rounds.push(one as Rounds);
    }
    await Promise.all([program.stop(), bareServer.stop()]);
    return figuresOf(rounds);
  },
});

/** The load of a benchmark exceeds the rate limit of one principal. */
const PER_MINUTE = 100_000_000;
const SETTINGS = {
  a2a: { quota: { principalPerMinute: PER_MINUTE, tenantPerMinute: PER_MINUTE } },
};

type Target = {
  readonly of: Pick<Program, 'pid' | 'port'>;
  /** @param n number of the request within its caller, from 1 */
  readonly next: (caller: number, n: number) => Buffer;
};
type Round = {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly threadUs: number;
  readonly clientUs: number;
};
/** A number of callers, or the fixed rate. */
type Load = number | 'open';
type RoundName =
  | 'bare'
  | 'calls'
  | 'envelopes'
  | 'sessions'
  | `${'bare' | 'calls'} ${(typeof FEWER)[number] | 'open'}`;
type Rounds = Record<RoundName, Round>;

function figuresOf(rounds: readonly Rounds[]) {
  const of = (name: RoundName, figure: keyof Round) =>
    median(rounds.map((one) => one[name][figure]));
  return {
    callsPerSecond: of('calls', 'perSecond'),
    p50Ms: of('calls', 'p50'),
    p99Ms: of('calls', 'p99'),
    threadUs: of('calls', 'threadUs'),
    clientUs: of('calls', 'clientUs'),
    ofBare: median(rounds.map(({ calls, bare }) => calls.perSecond / bare.perSecond)),
    callsOf8: of('calls 8', 'perSecond'),
    p99MsOf8: of('calls 8', 'p99'),
    callsOf4: of('calls 4', 'perSecond'),
    p99MsOf4: of('calls 4', 'p99'),
    callsOf1: of('calls 1', 'perSecond'),
    p99MsOf1: of('calls 1', 'p99'),
    openP50Ms: of('calls open', 'p50'),
    openP99Ms: of('calls open', 'p99'),
    sessionPerSecond: of('sessions', 'perSecond'),
    sessionP99Ms: of('sessions', 'p99'),
    envelopesPerSecond: of('envelopes', 'perSecond'),
    envelopeP99Ms: of('envelopes', 'p99'),
    envelopeThreadUs: of('envelopes', 'threadUs'),
    barePerSecond: of('bare', 'perSecond'),
    bareP50Ms: of('bare', 'p50'),
    bareP99Ms: of('bare', 'p99'),
    bareThreadUs: of('bare', 'threadUs'),
    bareOf8: of('bare 8', 'perSecond'),
    bareP99MsOf8: of('bare 8', 'p99'),
    bareOf4: of('bare 4', 'perSecond'),
    bareP99MsOf4: of('bare 4', 'p99'),
    bareOf1: of('bare 1', 'perSecond'),
    bareP99MsOf1: of('bare 1', 'p99'),
    bareOpenP50Ms: of('bare open', 'p50'),
    bareOpenP99Ms: of('bare open', 'p99'),
  };
}

async function round({ of, next }: Target, callers: Load, seconds: number): Promise<Round> {
  const load = await HttpLoad.open(of.port, callers === 'open' ? OPEN_CONNECTIONS : callers);
  const before = { main: processorTimeOf(of.pid).mainMs, client: ownThreadUs() };
  const begun = performance.now();
  const samples =
    callers === 'open'
      ? await atFixedRate(load, next, seconds)
      : await byCallers(load, next, callers, seconds);
  const elapsed = (performance.now() - begun) / 1_000;
  load.close();
  const count = samples.length;
  return {
    perSecond: count / elapsed,
    ...spread(samples),
    threadUs: ((processorTimeOf(of.pid).mainMs - before.main) * 1_000) / count,
    clientUs: (ownThreadUs() - before.client) / count,
  };
}

/** Closed loop: each caller sends its next request when it has the answer. Returns milliseconds. */
async function byCallers(load: HttpLoad, next: Target['next'], callers: number, seconds: number) {
  const samples: number[] = [];
  const until = performance.now() + seconds * 1_000;
  const caller = async (_: unknown, number: number) => {
    for (let n = 1; performance.now() < until; n++) {
      const answer = await load.request(next(number, n));
      assertDone(answer);
      samples.push(answer.ms);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return samples;
}

/** Open loop. Returns milliseconds from the time at which each call was due. */
const atFixedRate = (load: HttpLoad, next: Target['next'], seconds: number): Promise<number[]> =>
  atPace(1_000 / OPEN_PER_SECOND, OPEN_PER_SECOND * seconds, async (at, dueMs) => {
    assertDone(await load.request(next(0, at)));
    return performance.now() - dueMs;
  });

/** The text is returned, as a result of the tool or of the task. */
function assertDone({ status, body }: Answer): void {
  if (status === 200 && body.includes(TEXT) && !body.includes('isError')) return;
  throw new Error(`the server answered ${status}: ${body.slice(0, 300)}`);
}

const tokenOf = (home: string): Promise<string> =>
  issueToken(
    home,
    {
      sub: 'bench',
      tenant: TENANT,
      roles: ['agent'],
      resource: 'urn:troupe:a2a',
      ttlSec: 3_600,
      external: false,
    },
    Date.now(),
  );

const headersOf = (token: string, more: Readonly<Record<string, string>>) => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  ...more,
});

const rpc = (method: string, params: object) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

function callOf(token: string, name: string): Buffer {
  const headers = headersOf(token, {
    'mcp-protocol-version': STATELESS,
    'mcp-method': 'tools/call',
    'mcp-name': name,
  });
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': STATELESS,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return requestOf('/mcp', headers, rpc('tools/call', { name, arguments: { text: TEXT }, _meta }));
}

/** One session for all callers, as of a client that calls tools in parallel. */
async function sessionTarget(of: Pick<Program, 'pid' | 'port'>, token: string): Promise<Target> {
  const load = await HttpLoad.open(of.port, 1);
  const client = {
    protocolVersion: SESSIONS,
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  };
  const { headers, body } = await load.request(
    requestOf('/mcp', headersOf(token, {}), rpc('initialize', client)),
  );
  const id = /mcp-session-id: (\S+)/i.exec(headers)?.[1];
  if (id === undefined) throw new Error(`no session began: ${body.slice(0, 300)}`);
  const inSession = headersOf(token, { 'mcp-session-id': id, 'mcp-protocol-version': SESSIONS });
  const initialized = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
  await load.request(requestOf('/mcp', inSession, initialized));
  load.close();
  let calls = 1;
  return {
    of,
    next() {
      const params = { name: TOOL, arguments: { text: TEXT } };
      const message = { jsonrpc: '2.0', id: ++calls, method: 'tools/call', params };
      return requestOf('/mcp', inSession, JSON.stringify(message));
    },
  };
}

/**
 * An envelope that is answered with the end of its task; each is a subject of its own, as calls
 * are.
 */
function envelope(token: string, caller: number, n: number): Buffer {
  const body = {
    version: '1.0',
    request_id: randomUUID(),
    correlation_id: randomUUID(),
    causation_id: null,
    trace_id: randomUUID().replaceAll('-', ''),
    tenant_id: TENANT,
    principal: { sub: 'bench', roles: ['agent'] },
    timestamp: new Date().toISOString(),
    ttl_sec: 300,
    idempotency_key: randomUUID(),
    seq: n,
    action: 'conformance.echo_payload',
    action_version: '1.0.0',
    payload: { schema_version: '1.0', subject: `bench-${caller}-${randomUUID()}`, text: TEXT },
  };
  return requestOf('/v1/envelopes', headersOf(token, {}), JSON.stringify(body));
}
