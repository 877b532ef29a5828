/**
 * What clients cost a gateway: ten thousand idle clients, a thousand of them that send requests,
 * and a run that a thousand watch. The gateway is a separate process on a real embedded store with
 * ten thousand sessions, the clients are another process, and both share the cores. A bare `ws`
 * server that only keeps sockets, echoes, and broadcasts the same bytes at the same rate is
 * measured as the limit.
 *
 * Memory is what the kernel reports for a new process that a few clients have warmed up. Earlier
 * garbage is collected, so no freed memory is reused and lowers the figure. It is read when the
 * last client has connected, and again after a garbage collection; the second figure is the memory
 * in use. The time of one `health` excludes the cost of the idle clients, which is reported
 * separately. Deltas are measured in a separate process, without the effects of the other parts.
 *
 * Both processes need a file descriptor for each connection: `ulimit -n 12000` at least.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocketClients } from './harness/websocket-clients.ts';
import { GATEWAY_TOKEN, GatewayHost } from './harness/gateway-host.ts';
import { defineScenario } from './harness/scenario.ts';
import { spread } from './harness/statistics.ts';

const DELTAS_PER_SECOND = 50;
/** Clients that connect before the measurement, so that code is compiled. */
const WARMING = 50;
/** Longest delay of a presence event, per client. */
const PRESENCE_MS = 2;
const PRESENCE_REST_MS = 3_000;

export const gateway = defineScenario({
  name: 'gateway',
  question: 'what do ten thousand clients cost a gateway, and how soon do they receive?',
  secondsMax: 300,
  figures: {
    idleKb: { label: 'memory of an idle connection, resident, KB', unit: 'count', limit: 'bareKb' },
    bareKb: { label: '  limit: of a bare server of ws', unit: 'count' },
    heldKb: { label: '  with all garbage collected', unit: 'count', limit: 'bareHeldKb' },
    bareHeldKb: { label: '  limit: of a bare server of ws', unit: 'count' },
    idleShare: { label: '  part of one core that all of them take', unit: 'share' },
    helloMs: { label: '  processor time of a hello', unit: 'ms', limit: 'bareHelloMs' },
    bareHelloMs: { label: '  limit: of an upgrade alone', unit: 'ms' },
    lost: { label: '  connections that did not stay', unit: 'count' },
    healthP50Ms: { label: 'health, 1,000 clients asking once a second: p50', unit: 'ms' },
    healthP99Ms: { label: '  p99', unit: 'ms', limit: 'echoP99Ms' },
    echoP99Ms: { label: '  limit: echo of a bare server of ws, p99', unit: 'ms' },
    healthCpuMs: { label: '  processor time of one', unit: 'ms', limit: 'echoCpuMs' },
    echoCpuMs: { label: '  limit: of one echo', unit: 'ms' },
    deltaP50Ms: { label: 'delta to 1,000 watchers, 50 a second: p50', unit: 'ms' },
    deltaP99Ms: { label: '  p99', unit: 'ms', limit: 'castP99Ms' },
    castP99Ms: { label: '  limit: broadcast of a bare server of ws, p99', unit: 'ms' },
    deltaShare: { label: '  part of one core that it takes', unit: 'share' },
    castShare: { label: '  the same, of the bare server', unit: 'share' },
  },
  async measure({ folder, pick }) {
    const sizes = {
      idle: pick(10_000, 2_000, 20),
      active: pick(1_000, 500, 10),
      sessions: pick(10_000, 10_000, 20),
      seconds: pick(8, 3, 0.2),
      warmSeconds: pick(2, 2, 0.2),
      presenceMs: pick(PRESENCE_REST_MS, PRESENCE_REST_MS, 0),
    };
    const bare = await measureServer('bare', folder, sizes);
    const ours = await measureServer('gateway', folder, sizes);
    return {
      idleKb: ours.kb,
      bareKb: bare.kb,
      heldKb: ours.heldKb,
      bareHeldKb: bare.heldKb,
      idleShare: ours.idleShare,
      helloMs: ours.helloMs,
      bareHelloMs: bare.helloMs,
      lost: ours.lost + bare.lost,
      healthP50Ms: ours.answer.p50,
      healthP99Ms: ours.answer.p99,
      echoP99Ms: bare.answer.p99,
      healthCpuMs: ours.cpuMs,
      echoCpuMs: bare.cpuMs,
      deltaP50Ms: ours.delta.p50,
      deltaP99Ms: ours.delta.p99,
      castP99Ms: bare.delta.p99,
      deltaShare: ours.share,
      castShare: bare.share,
    };
  },
});

type Kind = 'gateway' | 'bare';
type Sizes = {
  readonly idle: number;
  readonly active: number;
  readonly sessions: number;
  readonly seconds: number;
  readonly warmSeconds: number;
  /** until the last presence event was sent, besides `PRESENCE_MS` of each client */
  readonly presenceMs: number;
};

async function measureServer(kind: Kind, folder: string, sizes: Sizes) {
  const here = await measurePresent(kind, join(folder, `${kind}-present`), sizes);
  const watching = await measureWatching(kind, join(folder, `${kind}-watched`), sizes);
  return { ...here, ...watching, lost: here.lost + watching.lost };
}

/** Idle clients, and some of them that send requests. */
async function measurePresent(kind: Kind, folder: string, sizes: Sizes) {
  const { idle, active, seconds, warmSeconds, presenceMs, sessions } = sizes;
  const server = await GatewayHost.start(kind, folder, sessions);
  const { port } = server;
  const hello = helloFor(kind);
  const early = new WebSocketClients();
  await early.order({ do: 'open', port, count: WARMING, hello });
  await early.order({ do: 'ask', count: WARMING, seconds: warmSeconds, request: HEALTH });
  await early.stop();
  const before = await server.facts();
  const clients = new WebSocketClients();
  await clients.order({ do: 'open', port, count: idle, hello });
  const full = await server.now();
  const held = await server.facts();
  // By then the last presence event has been sent.
  if (kind === 'gateway') await sleep(PRESENCE_MS * idle + presenceMs);
  const quiet = await server.now();
  await sleep(seconds * 1_000);
  const begun = await server.now();
  const answers = await clients.order({ do: 'ask', count: active, seconds, request: HEALTH });
  const ended = await server.now();
  const idleShare = (begun.cpuMs - quiet.cpuMs) / (begun.atMs - quiet.atMs);
  const askedMs = ended.cpuMs - begun.cpuMs - idleShare * (ended.atMs - begun.atMs);
  const { lost } = clients;
  await clients.stop();
  await server.stop();
  return {
    kb: (full.rssKb - before.rssKb) / idle,
    heldKb: (held.rssKb - before.rssKb) / idle,
    helloMs: (full.cpuMs - before.cpuMs) / idle,
    idleShare,
    lost,
    answer: spread(answers),
    cpuMs: askedMs / answers.length,
  };
}

/** One run that all clients watch. */
async function measureWatching(kind: Kind, folder: string, { active, seconds }: Sizes) {
  const server = await GatewayHost.start(kind, folder, 0);
  const { port } = server;
  const watchers = new WebSocketClients();
  await watchers.order({ do: 'open', port, count: active, hello: helloFor(kind) });
  await watchers.order({ do: 'watch' });
  const count = seconds * DELTAS_PER_SECOND;
  const quiet = await server.now();
  const after = await server.deltas(count);
  const delays = await watchers.order({ do: 'watched' });
  const { lost } = watchers;
  await watchers.stop();
  await server.stop();
  if (delays.length < active * count)
    throw new Error(`only ${delays.length} deltas reached ${active} watchers`);
  return {
    lost,
    delta: spread(delays),
    share: (after.cpuMs - quiet.cpuMs) / (seconds * 1_000 + 1_000),
  };
}

const HELLO = JSON.stringify({
  type: 'req',
  id: 'hello',
  method: 'connect',
  params: {
    minProtocol: 4,
    maxProtocol: 4,
    client: { id: 'cli', version: '0.0.0', platform: 'linux', mode: 'cli' },
    role: 'operator',
    scopes: ['operator.read'],
    caps: ['tool-events'],
    auth: { token: GATEWAY_TOKEN },
  },
});

const HEALTH = '{"type":"req","id":"health","method":"health","params":{}}';

const helloFor = (kind: Kind): string => (kind === 'gateway' ? HELLO : '');
