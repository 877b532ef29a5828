/**
 * MCP: calls of a tool a second, and how long one takes. The built program runs embedded as a
 * separate process; the tool is an action of the conformance agent, so each call is a durable task
 * that is executed. This process is the HTTP client, on the same cores.
 *
 * The same client calls a bare server of the same SDK, and sends the same work as envelopes. They
 * alternate in short rounds, so that other load of the machine affects all alike.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { issueToken } from '../channels/edge/identity/local-issuer.ts';
import { processorTimeOf } from './harness/computer.ts';
import { type Answer, HttpLoad, requestOf } from './harness/http-load.ts';
import { type Program, startMcpServer, startProgram } from './harness/program.ts';
import { defineScenario } from './harness/scenario.ts';
import { median, spread } from './harness/statistics.ts';

/** Callers, each with one call in flight on its own connection. */
const CALLERS = 16;
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
  secondsMax: 180,
  figures: {
    callsPerSecond: { label: 'tools called, 16 callers', unit: '1/s', limit: 'barePerSecond' },
    p50Ms: { label: '  call to result, p50', unit: 'ms', limit: 'bareP50Ms' },
    p99Ms: { label: '  p99', unit: 'ms', limit: 'bareP99Ms' },
    threadUs: {
      label: '  processor time of one, JavaScript thread',
      unit: 'µs',
      limit: 'bareThreadUs',
    },
    ofBare: { label: '  share of the bare server, by round', unit: 'ratio' },
    sessionPerSecond: { label: 'the same in sessions of 2025', unit: '1/s' },
    sessionP99Ms: { label: '  p99', unit: 'ms' },
    envelopesPerSecond: { label: 'the same work by envelopes, 16 callers', unit: '1/s' },
    envelopeP99Ms: { label: '  send to answer, p99', unit: 'ms' },
    envelopeThreadUs: { label: '  processor time of one, JavaScript thread', unit: 'µs' },
    barePerSecond: { label: 'limit: a bare server of the SDK, nothing stored', unit: '1/s' },
    bareP50Ms: { label: '  call to result, p50', unit: 'ms' },
    bareP99Ms: { label: '  p99', unit: 'ms' },
    bareThreadUs: { label: '  processor time of one, JavaScript thread', unit: 'µs' },
  },
  async measure({ folder, pick }) {
    const data = join(folder, 'data');
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'troupe.json5'), JSON.stringify(SETTINGS));
    const [program, bareServer] = [await startProgram(folder), await startMcpServer()];
    const token = await tokenOf(data);
    const targets = {
      calls: { of: program, next: () => callOf(token, TOOL) },
      sessions: await sessionTarget(program, token),
      envelopes: { of: program, next: (caller: number, n: number) => envelope(token, caller, n) },
      bare: { of: bareServer, next: () => callOf('x'.repeat(400), 'echo') },
    } satisfies Record<string, Target>;
    const seconds = pick(2, 1, 0.1);
    for (const target of Object.values(targets)) await round(target, pick(3, 1, 0.1));
    const rounds = [];
    for (let n = 0; n < pick(6, 3, 1); n++)
      rounds.push({
        bare: await round(targets.bare, seconds),
        calls: await round(targets.calls, seconds),
        envelopes: await round(targets.envelopes, seconds),
        sessions: await round(targets.sessions, seconds),
      });
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
};
type Rounds = readonly Readonly<Record<'bare' | 'calls' | 'envelopes' | 'sessions', Round>>[];

function figuresOf(rounds: Rounds) {
  const of = (target: keyof Rounds[number], figure: keyof Round) =>
    median(rounds.map((one) => one[target][figure]));
  return {
    callsPerSecond: of('calls', 'perSecond'),
    p50Ms: of('calls', 'p50'),
    p99Ms: of('calls', 'p99'),
    threadUs: of('calls', 'threadUs'),
    ofBare: median(rounds.map(({ calls, bare }) => calls.perSecond / bare.perSecond)),
    sessionPerSecond: of('sessions', 'perSecond'),
    sessionP99Ms: of('sessions', 'p99'),
    envelopesPerSecond: of('envelopes', 'perSecond'),
    envelopeP99Ms: of('envelopes', 'p99'),
    envelopeThreadUs: of('envelopes', 'threadUs'),
    barePerSecond: of('bare', 'perSecond'),
    bareP50Ms: of('bare', 'p50'),
    bareP99Ms: of('bare', 'p99'),
    bareThreadUs: of('bare', 'threadUs'),
  };
}

/** Closed loop: each caller sends its next request when it has the answer. */
async function round({ of: { pid, port }, next }: Target, seconds: number): Promise<Round> {
  const load = await HttpLoad.open(port, CALLERS);
  const samples: number[] = [];
  const before = processorTimeOf(pid).mainMs;
  const begun = performance.now();
  const until = begun + seconds * 1_000;
  const caller = async (_: unknown, number: number) => {
    for (let n = 1; performance.now() < until; n++) {
      const answer = await load.request(next(number, n));
      assertDone(answer);
      samples.push(answer.ms);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const elapsed = (performance.now() - begun) / 1_000;
  load.close();
  return {
    perSecond: samples.length / elapsed,
    ...spread(samples),
    threadUs: ((processorTimeOf(pid).mainMs - before) * 1_000) / samples.length,
  };
}

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
