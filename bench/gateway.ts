/**
 * What clients cost a gateway: ten thousand that only are there, a thousand of them that ask, and a
 * run that a thousand watch. The gateway is a process of its own on a real embedded store with ten
 * thousand sessions, the clients are another, and both are on the same cores. Beside it the same
 * with a bare server of `ws`, which keeps a socket and nothing else, echoes, and sends everybody
 * the same bytes in the same rhythm.
 *
 * Memory is what the kernel says of a new process that a few clients have warmed: all that was
 * there before is collected, so nothing that was freed is used again and flatters the figure; first
 * as it stands when the last client has come, then with all garbage collected, which is what is
 * held. The time of one `health` is without what the others take meanwhile by being there, which
 * stands beside it. Deltas have a process of their own, without what others left behind.
 *
 * Both processes need a file descriptor for each connection: `ulimit -n 12000` at least.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SocketCrowd } from './harness/socket-crowd.ts';
import { DOOR_TOKEN, GatewayHost } from './harness/gateway-host.ts';
import { defineScenario } from './harness/scenario.ts';
import { spread } from './harness/statistics.ts';

const DELTAS_PER_SECOND = 50;
/** Clients that come before anything is measured: code is compiled then. */
const WARMING = 50;
/** Clients are told of each other after at most so long for each of them. */
const PRESENCE_MS = 2;

export const gateway = defineScenario({
  name: 'gateway',
  question: 'what do ten thousand clients cost a gateway, and how soon do they hear?',
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
      seconds: pick(8, 3, 1),
    };
    const bare = await measureDoor('bare', folder, sizes);
    const ours = await measureDoor('gateway', folder, sizes);
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
};

async function measureDoor(kind: Kind, folder: string, sizes: Sizes) {
  const here = await measurePresent(kind, join(folder, `${kind}-present`), sizes);
  const watching = await measureWatching(kind, join(folder, `${kind}-watched`), sizes);
  return { ...here, ...watching, lost: here.lost + watching.lost };
}

/** Clients that are there, and some of them that ask. */
async function measurePresent(kind: Kind, folder: string, sizes: Sizes) {
  const { idle, active, seconds, sessions } = sizes;
  const door = await GatewayHost.start(kind, folder, sessions);
  const { port } = door;
  const hello = helloFor(kind);
  const early = new SocketCrowd();
  await early.order({ do: 'open', port, count: WARMING, hello });
  await early.order({ do: 'ask', count: WARMING, seconds: 2, request: HEALTH });
  await early.stop();
  const before = await door.facts();
  const crowd = new SocketCrowd();
  await crowd.order({ do: 'open', port, count: idle, hello });
  const full = await door.now();
  const held = await door.facts();
  // Then they have been told of the last of them.
  if (kind === 'gateway') await sleep(PRESENCE_MS * idle + 3_000);
  const quiet = await door.now();
  await sleep(seconds * 1_000);
  const begun = await door.now();
  const answers = await crowd.order({ do: 'ask', count: active, seconds, request: HEALTH });
  const ended = await door.now();
  const idleShare = (begun.cpuMs - quiet.cpuMs) / (begun.atMs - quiet.atMs);
  const askedMs = ended.cpuMs - begun.cpuMs - idleShare * (ended.atMs - begun.atMs);
  const { lost } = crowd;
  await crowd.stop();
  await door.stop();
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
  const door = await GatewayHost.start(kind, folder, 0);
  const { port } = door;
  const watchers = new SocketCrowd();
  await watchers.order({ do: 'open', port, count: active, hello: helloFor(kind) });
  await watchers.order({ do: 'watch' });
  const count = seconds * DELTAS_PER_SECOND;
  const quiet = await door.now();
  const told = await door.deltas(count);
  const delays = await watchers.order({ do: 'watched' });
  const { lost } = watchers;
  await watchers.stop();
  await door.stop();
  if (delays.length < active * count)
    throw new Error(`only ${delays.length} deltas reached ${active} watchers`);
  return {
    lost,
    delta: spread(delays),
    share: (told.cpuMs - quiet.cpuMs) / (seconds * 1_000 + 1_000),
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
    auth: { token: DOOR_TOKEN },
  },
});

const HEALTH = '{"type":"req","id":"health","method":"health","params":{}}';

const helloFor = (kind: Kind): string => (kind === 'gateway' ? HELLO : '');
