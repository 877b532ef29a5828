/**
 * 500 agents and 500 sagas at once on the built program with default settings: embedded, with its
 * quotas. Every agent is registered and has its own token. All of them request at the same moment
 * that a document is published (written, verified, notified, verified again), and send a heartbeat
 * as soon as they have an answer. This process is their HTTP client, on the same two cores.
 *
 * At the end everything is checked: each saga succeeded once, each document has one version, its
 * evidence can be read and is intact, and there are no dead letters.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueToken } from '../channels/edge/identity/local-issuer.ts';
import { contentHashOf, type DocumentRow } from '../protocols/document.ts';
import type { Envelope } from '../protocols/envelope.ts';
import { type Evidence, isFinal, type TaskView } from '../protocols/task.ts';
import { memoryOf, processorTimeOf } from './harness/computer.ts';
import { type Answer, HttpLoad, requestOf } from './harness/http-load.ts';
import { PROGRAM_TOKEN, type Program, startProgram } from './harness/program.ts';
import { defineScenario } from './harness/scenario.ts';
import { percentile } from './harness/statistics.ts';
import { inParallel } from './harness/system.ts';

const TENANT = 'default';
const RESOURCE = 'urn:troupe:a2a';
const TOKEN_TTL_SEC = 3_600;
const PUBLISH = 'process.publish_document';
/** The saga, two tasks that act, two that verify, and the agent's heartbeat. */
const TASKS_EACH = 6;
const EVIDENCE_EACH = 2;
/** Requests that are not part of the load. */
const WIDTH = 16;
const LOOK_MS = 200;

export const sagas = defineScenario({
  name: 'sagas',
  question: 'how soon are 500 sagas done that 500 agents ask for at once?',
  needsProgram: true,
  secondsMax: 240,
  figures: {
    ackP50Ms: { label: 'sent to acknowledged, p50', unit: 'ms' },
    ackP95Ms: { label: '  p95', unit: 'ms' },
    ackP99Ms: { label: '  p99', unit: 'ms' },
    doneP50S: { label: 'accepted to done, p50', unit: 's' },
    doneP95S: { label: '  p95', unit: 's' },
    lateP95S: { label: '  beyond the ETA, p95 (below 0: before it)', unit: 's' },
    allDoneS: { label: 'first envelope until the last saga is done', unit: 's' },
    tasksPerSecond: { label: '  tasks in that time', unit: '1/s' },
    threadUs: { label: '  processor time of a task, JavaScript thread', unit: 'µs' },
    memoryMb: { label: '  highest private memory of the program', unit: 'MB' },
    registered: { label: 'agents in the registry', unit: 'count' },
    unfinished: { label: 'sagas that did not succeed', unit: 'count' },
    faulty: { label: 'sagas whose document or evidence is not as it should be', unit: 'count' },
    deadLetters: { label: 'dead letters', unit: 'count' },
  },
  async measure({ folder, pick }) {
    const program = await startProgram(folder);
    const client = new Client(program);
    const agents = await agentsOf(join(folder, 'data'), pick(500, 100, 5));
    await inParallel(agents.length, WIDTH, (n) => register(client, agents[n]!));
    const memory = highestMemory(program.pid);
    const threadMs = processorTimeOf(program.pid).mainMs;
    const begunAt = Date.now();
    const acks = await askAll(program.port, agents);
    const views = await ended(client, agents);
    const usedMs = processorTimeOf(program.pid).mainMs - threadMs;
    const account = { memoryMb: memory.end(), ...(await accountOf(client, agents, views)) };
    await program.stop();
    return { ...timesOf(acks, views, { begunAt, usedMs }), ...account };
  },
});

type Agent = {
  readonly name: string;
  readonly token: string;
  readonly content: string;
  /** task id of the saga, when it is accepted */
  taskId: string;
};

const agentsOf = (home: string, count: number): Promise<Agent[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const name = `agent-${n}`;
      const who = { sub: name, tenant: TENANT, roles: ['agent'], resource: RESOURCE };
      const options = { ...who, ttlSec: TOKEN_TTL_SEC, external: false };
      const token = await issueToken(home, options, Date.now());
      return { name, token, content: `what ${name} has to say`, taskId: '' };
    }),
  );

const envelopeOf = ({ name }: Agent, action: string, seq: number, payload: object): Envelope => ({
  version: '1.0',
  request_id: randomUUID(),
  correlation_id: randomUUID(),
  causation_id: null,
  trace_id: randomUUID().replaceAll('-', ''),
  tenant_id: TENANT,
  principal: { sub: name, roles: ['agent'] },
  timestamp: new Date().toISOString(),
  ttl_sec: 300,
  idempotency_key: randomUUID(),
  seq,
  action,
  action_version: '1.0.0',
  payload: { schema_version: '1.0', subject: name, ...payload },
});

/** The client for requests that are not measured. */
class Client {
  readonly #url: string;

  constructor({ port }: Program) {
    this.#url = `http://127.0.0.1:${port}`;
  }

  /** @throws Error when the program refuses the request */
  async get<T>(path: string): Promise<T> {
    return this.#ask<T>(path, { headers: { authorization: `Bearer ${PROGRAM_TOKEN}` } });
  }

  async send(agent: Agent, envelope: Envelope): Promise<TaskView> {
    const headers = { authorization: `Bearer ${agent.token}`, 'content-type': 'application/json' };
    const body = JSON.stringify(envelope);
    return this.#ask<TaskView>('/v1/envelopes', { method: 'POST', headers, body });
  }

  /** Waits for the end of a task; the time limit of the repeat ends a wait that never resolves. */
  async end(taskId: string): Promise<TaskView> {
    for (;;) {
      const view = await this.get<TaskView>(`/v1/tasks/${taskId}`);
      if (isFinal(view.state)) return view;
      await sleep(LOOK_MS);
    }
  }

  async #ask<T>(path: string, init: RequestInit): Promise<T> {
    const answer = await fetch(`${this.#url}${path}`, init);
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as T;
  }
}

async function register(client: Client, agent: Agent): Promise<void> {
  const action = `${agent.name.replace('-', '_')}.do_its_work`;
  const spec = {
    action,
    action_version: '1.0.0',
    description: 'what this agent does',
    transports: ['http'],
    max_payload_bytes: 1_024,
    eta_sec: 60,
    schemas: { '1.0': { type: 'object' } },
    roles: [],
    compensable: false,
    sensitive: false,
  };
  const url = 'https://agents.example';
  const payload = { agent_id: agent.name, version: '1.0.0', url, actions: [spec] };
  const { task_id } = await client.send(
    agent,
    envelopeOf(agent, 'registry.register_agent', 1, payload),
  );
  const view = await client.end(task_id);
  if (view.state !== 'SUCCEEDED') throw new Error(`${agent.name}: ${JSON.stringify(view.error)}`);
}

/**
 * One connection each, all at the same moment. Returns how long each waited for its
 * acknowledgement, ms.
 */
async function askAll(port: number, agents: readonly Agent[]): Promise<readonly number[]> {
  const load = await HttpLoad.open(port, agents.length);
  const ready = agents.map((agent) => {
    const { name, content } = agent;
    const order = { document_id: name, content, expected_version: 0, notify: { to: name } };
    return {
      agent,
      order: bytesOf(agent, envelopeOf(agent, PUBLISH, 2, order), 'respond-async'),
      beat: bytesOf(agent, envelopeOf(agent, 'registry.send_heartbeat', 3, { agent_id: name })),
    };
  });
  const acks = await Promise.all(
    ready.map(async ({ agent, order, beat }) => {
      const answer = await load.request(order);
      agent.taskId = taken(answer).task_id;
      taken(await load.request(beat));
      return answer.ms;
    }),
  );
  load.close();
  return acks;
}

function bytesOf({ token }: Agent, envelope: Envelope, prefer?: string): Buffer {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify(envelope);
  return requestOf('/v1/envelopes', prefer === undefined ? headers : { ...headers, prefer }, body);
}

function taken({ status, body }: Answer): TaskView {
  if (status === 200 || status === 202) return JSON.parse(body) as TaskView;
  throw new Error(`the gateway answered ${status}: ${body.slice(0, 300)}`);
}

/** The end of every saga, in order. */
async function ended(client: Client, agents: readonly Agent[]): Promise<readonly TaskView[]> {
  const views: TaskView[] = [];
  for (const { taskId } of agents) views.push(await client.end(taskId));
  return views;
}

/** Measures continuously until it is stopped. */
function highestMemory(pid: number): { end(): number } {
  let highest = memoryOf(pid, 'RssAnon');
  const look = () => {
    highest = Math.max(highest, memoryOf(pid, 'RssAnon'));
  };
  const timer = setInterval(look, LOOK_MS);
  return {
    end() {
      clearInterval(timer);
      look();
      return highest;
    },
  };
}

/** Tasks record when they were accepted and when they ended. */
function timesOf(
  acks: readonly number[],
  views: readonly TaskView[],
  { begunAt, usedMs }: { begunAt: number; usedMs: number },
) {
  const endedAt = (view: TaskView) => Date.parse(view.finished_at ?? '');
  const tookS = views.map((view) => (endedAt(view) - Date.parse(view.accepted_at)) / 1_000);
  const lateS = views.map(({ eta_sec }, n) => tookS[n]! - eta_sec);
  const allDoneS = (Math.max(...views.map(endedAt)) - begunAt) / 1_000;
  const tasks = views.length * TASKS_EACH;
  return {
    ackP50Ms: percentile(acks, 0.5),
    ackP95Ms: percentile(acks, 0.95),
    ackP99Ms: percentile(acks, 0.99),
    doneP50S: percentile(tookS, 0.5),
    doneP95S: percentile(tookS, 0.95),
    lateP95S: percentile(lateS, 0.95),
    allDoneS,
    tasksPerSecond: tasks / allDoneS,
    threadUs: (usedMs * 1_000) / tasks,
  };
}

async function accountOf(client: Client, agents: readonly Agent[], views: readonly TaskView[]) {
  const { agents: rows } = await client.get<{ agents: { agent_id: string }[] }>('/v1/agents');
  const names = new Set(rows.map(({ agent_id }) => agent_id));
  const dead = await client.get<{ dead_letters: unknown[] }>('/v1/dead-letters');
  let faulty = 0;
  await inParallel(agents.length, WIDTH, async (n) => {
    if (!(await isAsItShouldBe(client, agents[n]!))) faulty++;
  });
  return {
    registered: agents.filter(({ name }) => names.has(name)).length,
    unfinished: views.filter(({ state }) => state !== 'SUCCEEDED').length,
    faulty,
    deadLetters: dead.dead_letters.length,
  };
}

/** Checks for one version with the right content, and evidence of both steps whose files exist. */
async function isAsItShouldBe(client: Client, agent: Agent): Promise<boolean> {
  const { name, content, taskId } = agent;
  const read = envelopeOf(agent, 'agent_data.read_document', 4, { document_id: name });
  const { result } = await client.end((await client.send(agent, read)).task_id);
  const document = result as DocumentRow | undefined;
  const { records } = await client.get<{ records: Evidence[] }>(`/evidence/${taskId}`);
  const files = await Promise.all(
    records.map(async ({ artifact_uri, artifact_hash }) => {
      const file = await fetch(artifact_uri);
      return file.ok && contentHashOf(await file.text()) === artifact_hash;
    }),
  );
  return (
    document?.version === 1 &&
    document.content === content &&
    records.length === EVIDENCE_EACH &&
    records.every(({ verified }) => verified) &&
    files.every(Boolean)
  );
}
