/**
 * How long one message takes in a cluster under light load: 50 a second, one at a time, each to
 * another one of 50 counters. Messages come through the worker that owns the shards, and through a
 * gateway in its own process. The commit of a tell is observed on the worker itself, when it
 * publishes the turn's event (I2: not before the record counts).
 */
import type { Bus } from '../runtime/bus/bus.ts';
import type { System } from '../runtime/index.ts';
import { openNode, spreadOver, startServer, startWorker } from './harness/cell.ts';
import { MARKED } from './harness/counter.ts';
import { atPace } from './harness/pace.ts';
import { openRaw } from './harness/raw-nats.ts';
import { defineScenario } from './harness/scenario.ts';
import { spread } from './harness/statistics.ts';
import { ask, counterAddress, SHARDS, tell } from './harness/system.ts';

const EVERY_MS = 20;
const PER_ROUND = 50;
const WARM_MS = 4;
const ACTORS = 50;
/** Approximate size of a tell's mailbox entry. */
const MAIL_BYTES = 256;

export const clusterLatency = defineScenario({
  name: 'cluster-latency',
  question: 'how long does one message take in a cluster under light load, 50 a second?',
  secondsMax: 240,
  figures: {
    tellP50Ms: { label: 'tell to commit, on its worker, p50', unit: 'ms', limit: 'publishP50Ms' },
    tellP99Ms: { label: '  p99', unit: 'ms', limit: 'publishP99Ms' },
    askP50Ms: { label: 'ask to reply, on its worker, p50', unit: 'ms', limit: 'publishP50Ms' },
    askP99Ms: { label: '  p99', unit: 'ms', limit: 'publishP99Ms' },
    tellOfPublish: { label: '  tell to commit, of the raw publish', unit: 'times' },
    askOfPublish: { label: '  ask to reply, of the raw publish', unit: 'times' },
    publishP50Ms: { label: '  limit: raw publish to its answer, p50', unit: 'ms' },
    publishP99Ms: { label: '  p99', unit: 'ms' },
    farTellP50Ms: {
      label: 'tell to its event seen, by a gateway, p50',
      unit: 'ms',
      limit: 'farPublishP50Ms',
    },
    farTellP99Ms: { label: '  p99', unit: 'ms', limit: 'farPublishP99Ms' },
    farAskP50Ms: { label: 'ask to reply, by a gateway, p50', unit: 'ms', limit: 'farPublishP50Ms' },
    farAskP99Ms: { label: '  p99', unit: 'ms', limit: 'farPublishP99Ms' },
    farAskOfPublish: { label: '  ask to reply, of the raw publish', unit: 'times' },
    farPublishP50Ms: { label: '  limit: raw publish to its answer, p50', unit: 'ms' },
    farPublishP99Ms: { label: '  p99', unit: 'ms' },
  },
  async measure({ folder, pick }) {
    const server = await startServer(folder);
    const raw = await openRaw(server.url, MAIL_BYTES);
    const rounds = pick(12, 4, 1);
    const node = { url: server.url, shards: SHARDS, folder };
    const marks = new Marks();
    const worker = await openNode({ ...node, role: 'worker', name: 'near' }, marks.around);
    await spreadOver(worker, 1, SHARDS);
    const near = await inRounds(rounds, { ...calls(worker, marks), raw: raw.publish });
    await worker.stop();
    const far = await startWorker({ ...node, name: 'far' });
    const gateway = await openNode({ ...node, role: 'gateway', name: 'gateway' });
    await spreadOver(gateway, 1, SHARDS);
    const seen = new Marks();
    gateway.bus.subscribe(MARKED, ({ payload }) => seen.mark(payload));
    const across = await inRounds(rounds, { ...calls(gateway, seen), raw: raw.publish });
    await gateway.stop();
    await far.stop();
    await raw.close();
    await server.stop();
    return {
      tellP50Ms: near.tell.p50,
      tellP99Ms: near.tell.p99,
      askP50Ms: near.ask.p50,
      askP99Ms: near.ask.p99,
      publishP50Ms: near.raw.p50,
      publishP99Ms: near.raw.p99,
      tellOfPublish: near.tell.p50 / near.raw.p50,
      askOfPublish: near.ask.p50 / near.raw.p50,
      farTellP50Ms: across.tell.p50,
      farTellP99Ms: across.tell.p99,
      farAskP50Ms: across.ask.p50,
      farAskP99Ms: across.ask.p99,
      farPublishP50Ms: across.raw.p50,
      farPublishP99Ms: across.raw.p99,
      farAskOfPublish: across.ask.p50 / across.raw.p50,
    };
  },
});

/** The callback that waits for the mark of a turn. */
class Marks {
  readonly #waiting = new Map<number, () => void>();
  #last = 0;

  next(): { id: number; came: Promise<void> } {
    const id = ++this.#last;
    return { id, came: new Promise((resolve) => this.#waiting.set(id, resolve)) };
  }

  mark(payload: unknown): void {
    const { id } = payload as { id: number };
    this.#waiting.get(id)?.();
    this.#waiting.delete(id);
  }

  /** The bus of a worker, observed when the worker publishes. */
  readonly around = (bus: Bus): Bus => ({
    get connected() {
      return bus.connected;
    },
    subscribe: (pattern, onMessage) => bus.subscribe(pattern, onMessage),
    request: (subject, payload, options) => bus.request(subject, payload, options),
    close: () => bus.close(),
    publish: (subject, payload) => {
      if (subject === MARKED) this.mark(payload);
      bus.publish(subject, payload);
    },
  });
}

function calls(system: System, marks: Marks) {
  return {
    tell: async (at: number) => {
      const { id, came } = marks.next();
      await tell(system, counterAddress(`c${at % ACTORS}`), { type: 'mark', by: 1, id });
      await came;
    },
    ask: async (at: number) => {
      await ask(system, counterAddress(`c${at % ACTORS}`), { type: 'get' });
    },
  };
}

/** Alternates the calls every second, so that other load of the machine affects all of them. */
async function inRounds<Name extends string>(
  rounds: number,
  all: Readonly<Record<Name, (at: number) => Promise<void>>>,
): Promise<Readonly<Record<Name, { p50: number; p99: number }>>> {
  const names = Object.keys(all) as Name[];
  // Creates every actor and compiles the code.
  for (const name of names) await timed(WARM_MS, all[name]);
  const samples = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++)
    for (const name of names) samples.get(name)!.push(...(await timed(EVERY_MS, all[name])));
  const spreads = names.map((name) => [name, spread(samples.get(name)!)]);
  return Object.fromEntries(spreads);
}

/** Milliseconds of each call. */
const timed = (everyMs: number, call: (at: number) => Promise<void>): Promise<number[]> =>
  atPace(everyMs, PER_ROUND, async (at) => {
    const sent = performance.now();
    await call(at);
    return performance.now() - sent;
  });
