/**
 * Trees of subagents and conversations of agents. They are held, each in another state of the
 * statecharts, so that one kill -9 interrupts them all. Or they run, so that a kill interrupts them
 * at any point. agent-checks.ts checks them afterwards.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { sessionAddress } from '../../../actors/index.ts';
import type { GatewayClient } from '../../../client/gateway-client.ts';
import type { Address } from '../../../protocols/address.ts';
import { type ConversationRow, conversationAddress } from '../../../protocols/conversation.ts';
import type { SubagentCensus } from '../../../protocols/subagent-census.ts';
import { type SubagentRow, subagentAddress } from '../../../protocols/subagent.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { TOKEN } from '../program.ts';
import type { Stored } from '../stored.ts';
import { startAgentModel, type AgentModel } from './agent-model.ts';
import { CHILDREN, SCRIPTS, type ConversationName, CONVERSATIONS, TREES } from './agent-scripts.ts';

export const TREE_LIMITS = { spawns: 200, tokens: 1_000_000 };
const WITHIN_MS = 60_000;
const TENANT = 'default';

const inReplies = (state: string) => ({ replying: state });

/** By label of a subagent or name of a conversation: the state in which it is held. */
export const STATES: Readonly<Record<string, unknown>> = {
  'three-1': { working: 'running' },
  'three-2': { working: 'running' },
  'three-3': { working: 'running' },
  'three-4': 'reserved',
  'three-5': 'reserved',
  'waits-1': { working: 'running' },
  'waits-2': { working: 'running' },
  'waits-3': { working: 'running' },
  'chain-1': { working: 'running' },
  'chain-2': { working: 'running' },
  'free-1': { working: 'running' },
  'free-2': { working: 'running' },
  'busy-1': { reported: 'readable' },
  'busy-2': { reported: 'readable' },
  'late-1': { working: 'running' },
  'doomed-1': { working: 'running' },
  asked: { asking: 'delivered' },
  sent: { asking: 'delivered' },
  asking: inReplies('requesterTurn'),
  answering: inReplies('targetTurn'),
  telling: 'announcing',
};

export const requesterOf = (name: ConversationName, suffix: number): string =>
  `agent:main:${name}-${suffix}`;
export const targetOf = (name: ConversationName, suffix: number): string =>
  `agent:coder:${name}-${suffix}`;
export const rootOf = (tree: string, suffix: number): string => `agent:main:${tree}-${suffix}`;
export const addressOf = (sessionKey: string): Address => sessionAddress(TENANT, sessionKey);

/** The index rows of all of them. */
export type Rows = {
  readonly subagents: readonly SubagentRow[];
  readonly conversations: readonly ConversationRow[];
  readonly census: SubagentCensus;
  readonly deadLetters: readonly unknown[];
};

export type SentMessage = {
  readonly sessionKey: string;
  readonly message: string;
  readonly runId: string;
};

export class HeldAgents {
  readonly model: AgentModel;
  /** all messages of users */
  readonly sent: SentMessage[] = [];

  private constructor(model: AgentModel) {
    this.model = model;
  }

  /** @param thinkMs delay of the model's answers, milliseconds; default 0 */
  static async open(thinkMs = 0): Promise<HeldAgents> {
    return new HeldAgents(await startAgentModel(SCRIPTS, thinkMs));
  }

  /** Writes the configuration of a process into its data folder. */
  configure(data: string, cluster: object = {}): void {
    const served = {
      api: 'openai-completions',
      baseUrl: this.model.baseUrl,
      apiKey: 'no-secret',
      models: [{ id: 'model' }],
    };
    const config = {
      models: { providers: { served } },
      agents: {
        defaults: { model: 'served/model', sandbox: { mode: 'none' }, runsMax: 200 },
        agents: [{ id: 'main', default: true }, { id: 'coder' }],
        spawnDefaults: {
          sandbox: { mode: 'none', allowlist: ['sessions_spawn'], denylist: [], timeout: 240_000 },
          maxSpawnDepth: 3,
          maxSpawnsPerTree: TREE_LIMITS.spawns,
          maxTokensPerTree: TREE_LIMITS.tokens,
        },
      },
      tools: { agentToAgent: { enabled: true } },
      cluster: { shards: 8, ...cluster },
    };
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'troupe.json5'), JSON.stringify(config));
  }

  /** Sends a user message to each target session and waits for the answers. */
  async greet(client: GatewayClient, suffix: number): Promise<void> {
    const greetings = CONVERSATIONS.map((name) =>
      this.#record(targetOf(name, suffix), 'Good morning.'),
    );
    for (const one of greetings) await send(client, one);
    for (const { runId } of greetings) await endOf(client, runId);
  }

  /**
   * Starts each tree and each conversation once. `repeat` sends messages again that a kill
   * interrupted.
   */
  async begin(client: GatewayClient, suffix: number): Promise<void> {
    const conversations = CONVERSATIONS.map((name) => {
      const words = `Ask ${targetOf(name, suffix)}. [${name}]`;
      return this.#record(requesterOf(name, suffix), words);
    });
    const trees = Object.keys(TREES).map((name) =>
      this.#record(rootOf(name, suffix), `It is yours. [${name}]`),
    );
    await Promise.all([...conversations, ...trees].map((one) => send(client, one)));
  }

  /** Starts one tree in each of these sessions. */
  async plant(client: GatewayClient, tree: keyof typeof TREES, roots: readonly string[]) {
    const all = roots.map((root) => this.#record(root, `It is yours. [${tree}]`));
    await Promise.all(all.map((one) => send(client, one)));
  }

  #record(sessionKey: string, message: string): SentMessage {
    const one = { sessionKey, message, runId: `sent-${this.sent.length}` };
    this.sent.push(one);
    return one;
  }

  /** Sends every message again under its own id. Accepted messages start nothing new. */
  async repeat(client: GatewayClient): Promise<void> {
    for (const one of this.sent) await send(client, one);
  }

  /** Waits until each run of a user's message has ended. */
  async end(client: GatewayClient): Promise<void> {
    for (const { runId } of this.sent) await endOf(client, runId);
  }
}

/** Scripts that the model holds. `three-4` and `three-5` have no slot yet. */
const HELD = Object.keys(SCRIPTS).filter(
  (name) => SCRIPTS[name]!.hold && !/^three-[45]/.test(name),
);
const ROWS = Object.values(CHILDREN).flat();

/** The rows with one suffix. */
type Begun = Pick<Rows, 'subagents' | 'conversations'>;

/** Checks that each subagent and conversation is held in its state, by its row and the model. */
export async function areHeld({ model }: HeldAgents, url: string, suffix: number): Promise<Begun> {
  expect(HELD.filter((name) => !model.held.has(name))).toEqual([]);
  const rows = await rowsOf(url);
  const subagents = rows.subagents.filter(({ root }) => root.endsWith(`-${suffix}`));
  const conversations = rows.conversations.filter(({ requester }) =>
    requester.endsWith(`-${suffix}`),
  );
  const byLabel = subagents.map(({ label = '', status, reported }) => [label, status, reported]);
  const wanted = ROWS.map((label) => [label, ...statusOf(STATES[label])]);
  expect(byLabel.toSorted()).toEqual(wanted.toSorted());
  const byConversation = conversations.map(({ requester, status }) => [
    conversationOf(requester),
    status,
  ]);
  expect(byConversation.toSorted()).toEqual([
    ['answering', 'replying'],
    ['asked', 'asking'],
    ['asking', 'replying'],
    ['sent', 'asking'],
    ['telling', 'announcing'],
  ]);
  return { subagents, conversations };
}
const statusOf = (state: unknown) => {
  if (state === 'reserved') return ['reserved', undefined];
  return 'working' in (state as object) ? ['running', undefined] : ['completed', 'steer'];
};

/** Waits until no work is open at two observations in a row. */
export async function rest(client: GatewayClient, url: string): Promise<Rows> {
  const deadline = Date.now() + WITHIN_MS;
  for (let before = ''; ; ) {
    const rows = await rowsOf(url);
    const open = await openWork(rows, client);
    const now = JSON.stringify(open);
    if (open.length === 0 && before === now) return rows;
    if (Date.now() > deadline) throw new Error(`work is still open: ${now}`);
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

const RUNS: ReadonlySet<string> = new Set(['queued', 'running']);

async function openWork(rows: Rows, client: GatewayClient): Promise<readonly unknown[]> {
  const { subagents, conversations } = rows;
  const { sessions } = await client.request('sessions.list', { limit: 1_000 });
  return [
    ...subagents
      .filter(({ reported }) => reported === undefined)
      .map(({ label, parent, status, id }) => ({ label, parent, status, id })),
    ...conversations
      .filter(({ status }) => status !== 'ended')
      .map(({ requester, turns }) => ({ requester, turn: turns.at(-1)?.turn })),
    ...sessions
      .filter(({ status, hasActiveRun }) => hasActiveRun || RUNS.has(status ?? ''))
      .map(({ key, status }) => ({ key, status })),
  ];
}

/** By label or conversation, the stored state. */
export async function statesOf(
  { subagents, conversations }: Begun,
  stored: Stored,
): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const { id, label = '' } of subagents)
    found[label] = await stored.stateOf(subagentAddress(TENANT, id));
  for (const { id, requester } of conversations)
    found[conversationOf(requester)] = await stored.stateOf(conversationAddress(TENANT, id));
  return found;
}

/** The conversation that a requester takes part in, from its session key. */
export const conversationOf = (sessionKey: string): ConversationName =>
  CONVERSATIONS.find((name) => sessionKey.startsWith(`agent:main:${name}-`))!;

export async function rowsOf(url: string): Promise<Rows> {
  const { subagents } = await read<Pick<Rows, 'subagents'>>(url, 'subagents?all=true');
  const { conversations } = await read<Pick<Rows, 'conversations'>>(url, 'conversations');
  const census = await read<SubagentCensus>(url, 'subagents/census');
  const dead = await read<{ dead_letters: readonly unknown[] }>(url, 'dead-letters');
  return { subagents, conversations, census, deadLetters: dead.dead_letters };
}

/** Kills a subagent as an operator. A lost response is harmless: the request may be repeated. */
export async function killSubagent(url: string, id: string): Promise<void> {
  const body = JSON.stringify({ reason: 'the test ends it' });
  await fetch(endpoint(url, `subagents/${id}/kill`), { ...AUTHORIZED, method: 'POST', body });
}

/** Kills the subagents that never end. */
export async function killDoomed(url: string): Promise<void> {
  const { subagents } = await rowsOf(url);
  for (const { id, label } of subagents) if (label === 'doomed-1') await killSubagent(url, id);
}

const AUTHORIZED = { headers: { authorization: `Bearer ${TOKEN}` } };
const endpoint = (url: string, path: string): string => `${url.replace('ws:', 'http:')}/v1/${path}`;

async function read<T>(url: string, path: string): Promise<T> {
  const answer = await fetch(endpoint(url, path), AUTHORIZED);
  expect({ path, status: answer.status }).toEqual({ path, status: 200 });
  return (await answer.json()) as T;
}

/** Retries while the gateway has no workers; a repeat of the same message is harmless. */
async function send(
  client: GatewayClient,
  { sessionKey, message, runId }: SentMessage,
): Promise<void> {
  const deadline = Date.now() + WITHIN_MS;
  for (;;) {
    try {
      await client.request('chat.send', { sessionKey, message, idempotencyKey: runId });
      return;
    } catch (error) {
      const mayPass = client.state.kind === 'open' && error instanceof TroupeError;
      if (!mayPass || Date.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** @throws when the run did not end with status ok */
async function endOf(client: GatewayClient, runId: string): Promise<void> {
  const params = { runId, timeoutMs: WITHIN_MS };
  const { status } = await client.request('agent.wait', params, { timeoutMs: 0 });
  expect({ runId, status }).toEqual({ runId, status: 'ok' });
}
