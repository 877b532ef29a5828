/**
 * A rolling upgrade of a cluster under load with two builds, back, forward again, and finished:
 * each accepted message is answered once, and the older build refuses the cell at the end.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { connect } from '@nats-io/transport-node';
import { jetstreamManager } from '@nats-io/jetstream';
import type { Finished, UpgradeStatus } from '../../protocols/upgrade.ts';
import { bundle } from '../../tools/build.mjs';
import { randomOf } from '../random.ts';
import { eventually } from '../runtime/eventually.ts';
import { account, connectTo, Conversations, OWN_RUNS } from '../kill/conversations.ts';
import { CLUSTER_SECRET, TOKEN } from '../kill/program.ts';
import { describeWithNats, TestCluster, WORKERS } from '../kill/test-cluster.ts';
import { Envelopes } from './envelopes.ts';
import { buildNext, NEXT_FORMAT, NEXT_VERSION } from './next-build.ts';

/** Between two messages: a load that leaves time for the processes that start. */
const BETWEEN_MS = 250;
const COMMAND_MS_MAX = 120_000;

const SEED = Math.floor(Math.random() * 2 ** 31);
const cluster = new TestCluster(`{ cluster: { shards: 8 }, ${OWN_RUNS} }`);
let next: string;
beforeAll(async () => {
  next = await buildNext();
}, 120_000);

const run = promisify(execFile);

/** @throws with the error of the command */
async function troupe<T>(build: string, ...args: string[]): Promise<T> {
  const at = ['--nats', cluster.nats, '--data', cluster.dataOf('operator'), '--json'];
  const env = { ...process.env, TROUPE_CLUSTER_SECRET: CLUSTER_SECRET, TROUPE_CONFIG: '' };
  const options = { env, timeout: COMMAND_MS_MAX };
  const { stdout } = await run(process.execPath, [build, ...args, ...at], options);
  return JSON.parse(stdout) as T;
}

const refused = async (...command: Parameters<typeof troupe>): Promise<string> =>
  troupe(...command).then(
    () => 'it was not refused',
    (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
  );

async function stop(name: string): Promise<void> {
  const { child } = cluster.program(name);
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

/** Messages and envelopes without an end, also while the gateway is replaced. */
class Load {
  readonly conversations = new Conversations(SEED, randomOf(SEED));
  readonly envelopes = new Envelopes(cluster.dataOf('gateway'), () => cluster.url);
  readonly #enough = new AbortController();
  readonly #running = Promise.all([this.#converse(), this.envelopes.load(this.#enough.signal)]);

  constructor() {
    // A test that fails before the end reports its own error.
    this.#running.catch(() => {});
  }

  async #converse(): Promise<void> {
    const { signal } = this.#enough;
    while (!signal.aborted) {
      // undefined: the gateway is being replaced.
      const client = await connectTo(cluster.url).catch(() => undefined);
      if (client) await this.conversations.load(client, signal, BETWEEN_MS);
      else await pause(BETWEEN_MS);
      client?.close();
    }
  }

  /** Everything that was sent is answered, once. */
  async end(): Promise<void> {
    this.#enough.abort();
    await this.#running;
    const client = await connectTo(cluster.url);
    await this.conversations.repeatUnanswered(client);
    await account(client, this.conversations.sent);
    client.close();
    await this.envelopes.account();
  }
}

/** @param how kill: kill -9 instead of SIGTERM */
async function replace(name: string, build: string, how: 'stop' | 'kill' = 'stop'): Promise<void> {
  if (how === 'kill') await cluster.kill(name);
  else await stop(name);
  await cluster.startWorker(name, build);
}

async function replaceGateway(build: string): Promise<void> {
  await stop('gateway');
  await cluster.startGateway('gateway', build);
}

/** The formats in which the journals of the cell have records. */
async function formatsInJournals(): Promise<readonly number[]> {
  const connection = await connect({ servers: cluster.nats });
  const manager = await jetstreamManager(connection);
  const { state } = await manager.streams.info('troupe-main-journal');
  const found = new Set<number>();
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    const entry = await manager.streams
      .getMessage('troupe-main-journal', { seq })
      .catch(() => null);
    if (entry?.data[0] === 0xc1) found.add(entry.data[1]!);
  }
  await connection.close();
  return [...found].toSorted();
}

describeWithNats('a rolling upgrade under load', () => {
  test(`loses and repeats nothing, can be taken back, and is finished (seed ${SEED})`, {
    timeout: 600_000,
  }, async () => {
    await cluster.start();
    const load = new Load();

    // Mixed: the new worker writes what the old ones read, and the upgrade cannot be finished.
    await replace('ann', next);
    const mixed = await troupe<UpgradeStatus>(next, 'upgrade', 'status');
    expect(mixed).toMatchObject({
      cell: { format: 1 },
      finish: { to: NEXT_FORMAT, state: 'refused' },
    });
    expect(mixed.processes.map(({ name, reads, writes }) => [name, reads, writes])).toEqual([
      ['gateway', 1, 1],
      ['ann', NEXT_FORMAT, 1],
      ['bob', 1, 1],
      ['cleo', 1, 1],
    ]);
    const why = await refused(next, 'upgrade', 'finish');
    expect(why).toMatch(/CONFLICT.*gateway gateway.*worker bob.*worker cleo.*up to 1/s);
    // A program that knows no newer format has nothing to finish.
    expect(await troupe<Finished>(bundle, 'upgrade', 'finish')).toMatchObject({ raised: false });

    // Back: the older build continues with what the newer one has written.
    await replace('ann', bundle);
    expect(await formatsInJournals()).toEqual([1]);

    for (const name of WORKERS) await replace(name, next, name === 'bob' ? 'kill' : 'stop');
    await replaceGateway(next);
    await eventually(async () => {
      const ready = await troupe<UpgradeStatus>(next, 'upgrade', 'status');
      expect(ready.finish.state).toBe('allowed');
      expect(new Set(ready.processes.map(({ version }) => version))).toEqual(
        new Set([NEXT_VERSION]),
      );
    }, 30_000);

    const finished = await troupe<Finished>(
      next,
      'upgrade',
      'finish',
      '--url',
      cluster.url,
      '--token',
      TOKEN,
    );
    expect(finished).toMatchObject({ raised: true, cell: { format: 2, minReader: 2 } });
    expect(await troupe<Finished>(next, 'upgrade', 'finish')).toMatchObject({ raised: false });
    await eventually(async () => {
      const { processes } = await troupe<UpgradeStatus>(next, 'upgrade', 'status');
      expect(processes.every(({ writes }) => writes === NEXT_FORMAT)).toBe(true);
    }, 30_000);
    await load.end();
    expect(load.conversations.sent.length).toBeGreaterThan(20);
    expect(load.envelopes.sent.length).toBeGreaterThan(20);
    expect(await formatsInJournals()).toContain(NEXT_FORMAT);

    // The older build refuses the cell in each role, and changes nothing.
    const sentence = /record of the cell has format 2.*reads formats up to 1: start the newer/;
    expect(await refused(bundle, 'worker', '--name', 'ann-again')).toMatch(sentence);
    await expect(cluster.startGateway('gateway-again', bundle)).rejects.toThrow(sentence);
    expect(await refused(bundle, 'upgrade', 'status')).toMatch(sentence);
  });
});
