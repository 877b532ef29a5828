/**
 * The built program as a cluster, `troupe worker` and `troupe gateway`, with users who send
 * messages to agents while workers and the gateway are killed. Each accepted message is answered
 * once, under its own run id.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { connectOperator } from '../../client/operator-client.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { reservePort } from '../../test/servers/reserve-port.ts';
import { natsServers, startNats } from '../../test/servers/nats.ts';
import { Random } from '../../library/simulation/random.ts';
import { ensureBuilt } from '../harness/program.ts';
import { Chronicle } from './chronicle.ts';
import type { RunRow } from './evidence.ts';
import type { Outcome, StageOptions } from './stage.ts';
import { until } from './until.ts';

const TOKEN = 'faults-token-of-no-secret';
const SESSIONS = 6;
export const WORKERS = ['w1', 'w2', 'w3'];
export const GATEWAY = 'gateway';
/** Share of the kills that hit the gateway. */
const GATEWAY_SHARE = 0.3;
const MESSAGE = 'Tell me something. [[words:60]] [[pace:300]]';
const READY_MS = 60_000;
const WAIT_MS = 120_000;
const bundle = fileURLToPath(new URL('../../dist/troupe.js', import.meta.url));

type Sent = {
  readonly session: string;
  readonly runId: string;
  /** ISO 8601 */
  readonly sentAt: string;
  accepted: boolean;
};

/** What happens to the cluster during the conversations. */
export type Act = (stage: {
  readonly cluster: Program;
  readonly random: Random;
  readonly chronicle: Chronicle;
  readonly say: (what: string) => void;
}) => Promise<void>;

export function conversations(kills: number, options: StageOptions): Promise<Outcome> {
  const what = `${kills} kills -9 of workers and gateway of the program, in conversations`;
  return underConversations({ name: 'conversations', what }, options, async (stage) => {
    const { cluster, random, chronicle, say } = stage;
    for (let kill = 1; kill <= kills; kill++) {
      await sleep(random.whole(200, 2_000));
      const name = random.chance(GATEWAY_SHARE) ? GATEWAY : random.pick(WORKERS);
      say(`kill -9 of ${name}, ${kill} of ${kills}`);
      const fault = chronicle.begin(`kill -9 of ${name}`);
      await cluster.stop(name, 'SIGKILL');
      await cluster.start(name);
      fault.ended();
    }
  });
}

/** Starts the program as a cluster with people who talk, and accounts for their messages. */
export async function underConversations(
  scenario: Pick<Outcome, 'name' | 'what'>,
  options: StageOptions,
  act: Act,
): Promise<Outcome> {
  const { seed, folder, say } = options;
  ensureBuilt();
  const begun = performance.now();
  const startedAt = new Date().toISOString();
  const chronicle = new Chronicle();
  const random = new Random(seed);
  const server = await startNats({
    path: natsServers().at(-1)!.path,
    folder: join(folder, 'nats'),
  });
  const cluster = new Program(folder, server.url, await reservePort());
  try {
    await Promise.all([...WORKERS, GATEWAY].map((name) => cluster.start(name)));
    await cluster.ready();
    const people = new People(cluster, random.fork('people'), seed);
    await act({ cluster, random, chronicle, say });
    await people.end();
    say('all is calm: the account is made');
    const audited = await people.account();
    const seconds = (performance.now() - begun) / 1_000;
    const { messages, requests } = people;
    const figures = { messages, requests, unknown: 0, startedAt, seconds, notes: [] };
    return { ...scenario, seed, ...figures, ...audited, faults: chronicle.faults };
  } finally {
    await cluster.end();
    await server.stop();
  }
}

/** The processes of the cluster, by name. */
class Program {
  readonly url: string;
  readonly #folder: string;
  readonly #nats: string;
  readonly #port: number;
  readonly #running = new Map<string, ChildProcess>();

  constructor(folder: string, nats: string, port: number) {
    this.#folder = folder;
    this.#nats = nats;
    this.#port = port;
    this.url = `ws://127.0.0.1:${port}`;
    mkdirSync(folder, { recursive: true });
    // every message has its own run, and a full session refuses messages
    const queue = `{ mode: 'followup', cap: 100, overflow: 'refuse' }`;
    const config = `{ cluster: { shards: 12 }, messages: { queue: ${queue} } }`;
    writeFileSync(join(folder, 'troupe.json5'), config);
  }

  /** @param build default this one */
  async start(name: string, build = bundle): Promise<void> {
    const role = name === GATEWAY ? 'gateway' : 'worker';
    const token = ['--token', TOKEN, '--port', String(this.#port)];
    const own = ['--name', name, '--nats', this.#nats, '--config', this.#config];
    const said = openSync(join(this.#folder, `${name}.log`), 'a');
    const child = spawn(process.execPath, [build, role, ...own, ...token], {
      env: this.environment,
      stdio: ['ignore', said, said],
    });
    closeSync(said);
    this.#running.set(name, child);
    await once(child, 'spawn');
  }

  /** Resolves when the gateway reports that every shard has an owner. */
  ready(): Promise<void> {
    const answers = () =>
      fetch(`http://127.0.0.1:${this.#port}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      );
    return until('the cluster is ready', answers, READY_MS);
  }

  /** Of every process of the cluster. */
  get environment(): NodeJS.ProcessEnv {
    return { PATH: process.env['PATH'], HOME: this.#folder, TROUPE_HOME: this.#folder };
  }

  /** Of a command of an operator. */
  get operatorArguments(): readonly string[] {
    return ['--nats', this.#nats, '--url', this.url, '--token', TOKEN];
  }

  /** Sends the signal. Resolves when the process has exited. */
  async stop(name: string, signal: NodeJS.Signals): Promise<void> {
    const child = this.#running.get(name)!;
    const ended = once(child, 'exit');
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await ended;
  }

  async end(): Promise<void> {
    for (const name of this.#running.keys()) await this.stop(name, 'SIGKILL');
  }

  get #config(): string {
    return join(this.#folder, 'troupe.json5');
  }
}

/** One client for all sessions that reconnects whenever its connection breaks. */
class People {
  readonly #cluster: Program;
  readonly #random: Random;
  readonly #seed: number;
  readonly #sent: Sent[] = [];
  readonly #talking: Promise<void>;
  #client: GatewayClient | undefined;
  #ended = false;
  messages = 0;

  constructor(cluster: Program, random: Random, seed: number) {
    this.#cluster = cluster;
    this.#random = random;
    this.#seed = seed;
    this.#talking = this.#talk();
  }

  get requests(): number {
    return this.#sent.length;
  }

  /** Resolves when every sent message is accepted. */
  async end(): Promise<void> {
    this.#ended = true;
    await this.#talking;
    for (const message of this.#sent)
      await until('a message is accepted', () => this.#send(message), WAIT_MS);
  }

  async account(): Promise<Pick<Outcome, 'lost' | 'doubled' | 'other' | 'rows' | 'idAt'>> {
    const wrong = { lost: [] as string[], doubled: [] as string[], other: [] as string[] };
    const statuses = new Map<string, string>();
    for (const { runId } of this.#sent) {
      const client = await this.#connected();
      const wait = { runId, timeoutMs: WAIT_MS };
      const { status } = await client.request('agent.wait', wait, { timeoutMs: WAIT_MS });
      statuses.set(runId, status);
      if (status !== 'ok') wrong.other.push(`the run ${runId} ended ${status}`);
    }
    const rows: RunRow[] = [];
    for (let n = 0; n < SESSIONS; n++) {
      const entries = await this.#transcript(sessionOf(n));
      this.messages += entries.length;
      for (const message of this.#sent.filter(({ session }) => session === sessionOf(n))) {
        const { runId } = message;
        const found = (role: string) =>
          entries.filter((one) => one.role === role && one.runId === runId).length;
        const lines = { user: found('user'), assistant: found('assistant') };
        for (const [role, times] of Object.entries(lines)) {
          if (times < 1) wrong.lost.push(`${runId} is lost: ${role}`);
          if (times > 1) wrong.doubled.push(`${runId} occurs ${times} times: ${role}`);
        }
        rows.push({ kind: 'run', ...message, status: statuses.get(runId)!, ...lines });
      }
    }
    this.#client?.close();
    return { ...wrong, rows, idAt: () => undefined };
  }

  async #talk(): Promise<void> {
    for (let n = 1; !this.#ended; n++) {
      const session = sessionOf(this.#random.whole(0, SESSIONS - 1));
      const sentAt = new Date().toISOString();
      const message = { session, runId: `run-${this.#seed}-${n}`, sentAt, accepted: false };
      this.#sent.push(message);
      await this.#send(message);
      await sleep(this.#random.whole(50, 400));
    }
  }

  /**
   * Whether the message is accepted now. A message without a response is sent again under its key.
   */
  async #send(message: Sent): Promise<boolean> {
    if (message.accepted) return true;
    const { session: sessionKey, runId: idempotencyKey } = message;
    try {
      const client = await this.#connected();
      await client.request('chat.send', { sessionKey, message: MESSAGE, idempotencyKey });
      message.accepted = true;
    } catch (error) {
      if (!(error instanceof TroupeError)) throw error;
      await sleep(100);
    }
    return message.accepted;
  }

  async #connected(): Promise<GatewayClient> {
    if (this.#client?.state.kind === 'open') return this.#client;
    await this.#cluster.ready();
    const { url } = this.#cluster;
    this.#client = await connectOperator({ url, token: TOKEN, reconnect: false });
    return this.#client;
  }

  async #transcript(sessionKey: string): Promise<{ role: string; runId?: string }[]> {
    const client = await this.#connected();
    const lines: { role: string; runId?: string }[] = [];
    for (;;) {
      const asked = { sessionKey, limit: 1_000, offset: lines.length };
      const page = await client.request('chat.history', asked);
      lines.push(...(page.messages as unknown as { role: string; runId?: string }[]));
      if (!page.hasMore || page.messages.length === 0) return lines;
    }
  }
}

const sessionOf = (n: number): string => `agent:main:faults-${n}`;
