/**
 * What clients cost a gateway: ten thousand that only are there, a thousand of them that ask, and a
 * run that a thousand watch. The gateway is a process of its own on a real embedded store, the
 * clients are another, and both are on the same cores. Beside it the same with a bare server of
 * `ws`, which keeps a socket and nothing else, echoes, and sends everybody the same bytes.
 *
 * Both processes need a file descriptor for each connection: `ulimit -n 12000` at least.
 */
import { SocketCrowd } from './harness/socket-crowd.ts';
import { DOOR_TOKEN, DoorHost } from './harness/door-host.ts';
import { defineScenario } from './harness/scenario.ts';
import { spread } from './harness/statistics.ts';

const DELTAS_PER_SECOND = 50;

export const gateway = defineScenario({
  name: 'gateway',
  question: 'what do ten thousand clients cost a gateway, and how soon do they hear?',
  secondsMax: 240,
  figures: {
    idleKb: { label: 'memory of an idle connection, resident, KB', unit: 'count', limit: 'bareKb' },
    bareKb: { label: '  limit: of a bare server of ws', unit: 'count' },
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
    const [idle, active] = [pick(10_000, 2_000, 20), pick(1_000, 500, 10)];
    const seconds = pick(8, 3, 1);
    const sizes = { idle, active, seconds };
    const bare = await measureDoor('bare', folder, sizes);
    const ours = await measureDoor('gateway', folder, sizes);
    return {
      idleKb: ours.kb,
      bareKb: bare.kb,
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

type Sizes = { readonly idle: number; readonly active: number; readonly seconds: number };

async function measureDoor(kind: 'gateway' | 'bare', folder: string, sizes: Sizes) {
  const { idle, active, seconds } = sizes;
  const door = await DoorHost.start(kind, folder);
  const { port } = door;
  const hello = kind === 'gateway' ? HELLO : '';
  // Before anything is measured: code is compiled and buffers are made, as in a door at work.
  const early = new SocketCrowd();
  await early.order({ do: 'open', port, count: active, hello });
  await early.order({ do: 'ask', count: active, seconds: 2, request: HEALTH });
  await early.stop();
  const before = await door.facts();
  const crowd = new SocketCrowd();
  await crowd.order({ do: 'open', port, count: idle, hello });
  const full = await door.facts();
  const begun = await door.now();
  const answers = await crowd.order({ do: 'ask', count: active, seconds, request: HEALTH });
  const ended = await door.now();
  const { lost } = crowd;
  await crowd.stop();
  const watchers = new SocketCrowd();
  await watchers.order({ do: 'open', port, count: active, hello });
  await watchers.order({ do: 'watch' });
  const quiet = await door.now();
  const told = await door.deltas(seconds * DELTAS_PER_SECOND);
  const delays = await watchers.order({ do: 'watched' });
  await watchers.stop();
  await door.stop();
  if (delays.length < active * seconds * DELTAS_PER_SECOND)
    throw new Error(`only ${delays.length} deltas reached ${active} watchers`);
  return {
    kb: (full.rssKb - before.rssKb) / idle,
    lost: lost + watchers.lost,
    answer: spread(answers),
    cpuMs: (ended.cpuMs - begun.cpuMs) / answers.length,
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
