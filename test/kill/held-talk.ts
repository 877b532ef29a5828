/**
 * Trees of subagents and exchanges of agents that stand still, each in another state of the charts,
 * so that one kill -9 hits them all; or that go on, so that a kill hits them anywhere. What became
 * of them is accounted for in talk-account.ts.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { sessionAddress } from '../../actors/index.ts';
import type { GatewayClient } from '../../cli/client/gateway-client.ts';
import type { Address } from '../../protocols/address.ts';
import { type ConversationRow, conversationAddress } from '../../protocols/conversation.ts';
import type { SubagentCensus } from '../../protocols/subagent-census.ts';
import { type SubagentRow, subagentAddress } from '../../protocols/subagent.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { TOKEN } from './program.ts';
import type { Stored } from './stored.ts';
import { startTalkModel, type TalkModel } from './talk-model.ts';
import { CHILDREN, PARTS, type Talk, TALKS, TREES } from './talk-parts.ts';

export const TREE_LIMITS = { spawns: 200, tokens: 1_000_000 };
const WITHIN_MS = 60_000;
const TENANT = 'default';

const inExchange = (state: string) => ({ replying: state });

/** By label, or by talk: where each is kept, as the charts say it. */
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
  asking: inExchange('requesterTurn'),
  answering: inExchange('targetTurn'),
  telling: 'announcing',
};

export const requesterOf = (talk: Talk, suffix: number): string => `agent:main:${talk}-${suffix}`;
export const targetOf = (talk: Talk, suffix: number): string => `agent:coder:${talk}-${suffix}`;
export const rootOf = (tree: string, suffix: number): string => `agent:main:${tree}-${suffix}`;
export const addressOf = (sessionKey: string): Address => sessionAddress(TENANT, sessionKey);

/** The rows of all of them, as operators read them. */
export type Rows = {
  readonly subagents: readonly SubagentRow[];
  readonly conversations: readonly ConversationRow[];
  readonly census: SubagentCensus;
  readonly deadLetters: readonly unknown[];
};

export type Told = {
  readonly sessionKey: string;
  readonly message: string;
  readonly runId: string;
};

export class HeldTalk {
  readonly model: TalkModel;
  /** all that people have said */
  readonly told: Told[] = [];

  private constructor(model: TalkModel) {
    this.model = model;
  }

  /** @param thinkMs of the model, milliseconds; default 0 */
  static async open(thinkMs = 0): Promise<HeldTalk> {
    return new HeldTalk(await startTalkModel(PARTS, thinkMs));
  }

  /** The configuration of each process, written into its data folder. */
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

  /** People talk with those who will be asked; resolves when they have their answers. */
  async greet(client: GatewayClient, suffix: number): Promise<void> {
    const greetings = TALKS.map((talk) => this.#say(targetOf(talk, suffix), 'Good morning.'));
    for (const told of greetings) await send(client, told);
    for (const { runId } of greetings) await endOf(client, runId);
  }

  /** Begins each tree and each exchange once. Who is killed meanwhile is told by `repeat`. */
  async begin(client: GatewayClient, suffix: number): Promise<void> {
    const talks = TALKS.map((talk) => {
      const words = `Ask ${targetOf(talk, suffix)}. [${talk}]`;
      return this.#say(requesterOf(talk, suffix), words);
    });
    const trees = Object.keys(TREES).map((name) =>
      this.#say(rootOf(name, suffix), `It is yours. [${name}]`),
    );
    await Promise.all([...talks, ...trees].map((told) => send(client, told)));
  }

  /** Begins one tree in each of these sessions. */
  async plant(client: GatewayClient, tree: keyof typeof TREES, roots: readonly string[]) {
    const all = roots.map((root) => this.#say(root, `It is yours. [${tree}]`));
    await Promise.all(all.map((told) => send(client, told)));
  }

  #say(sessionKey: string, message: string): Told {
    const told = { sessionKey, message, runId: `told-${this.told.length}` };
    this.told.push(told);
    return told;
  }

  /** All of it once more, each under its own id: what was accepted is not begun again. */
  async repeat(client: GatewayClient): Promise<void> {
    for (const told of this.told) await send(client, told);
  }

  /** Each run that a person began has its end. */
  async end(client: GatewayClient): Promise<void> {
    for (const { runId } of this.told) await endOf(client, runId);
  }
}

/** Names of what the model keeps, as far as it has come to it; the others have no place yet. */
const KEPT = Object.keys(PARTS).filter((name) => PARTS[name]!.kept && !/^three-[45]/.test(name));
const ROWS = Object.values(CHILDREN).flat();

/** Those that were begun with one suffix. */
type Begun = Pick<Rows, 'subagents' | 'conversations'>;

/** Each is where it is kept, as far as its row and the model know. */
export async function areKept({ model }: HeldTalk, url: string, suffix: number): Promise<Begun> {
  expect(KEPT.filter((name) => !model.kept.has(name))).toEqual([]);
  const rows = await rowsOf(url);
  const subagents = rows.subagents.filter(({ root }) => root.endsWith(`-${suffix}`));
  const conversations = rows.conversations.filter(({ requester }) =>
    requester.endsWith(`-${suffix}`),
  );
  const byLabel = subagents.map(({ label = '', status, reported }) => [label, status, reported]);
  const wanted = ROWS.map((label) => [label, ...statusOf(STATES[label])]);
  expect(byLabel.toSorted()).toEqual(wanted.toSorted());
  const byTalk = conversations.map(({ requester, status }) => [talkOf(requester), status]);
  expect(byTalk.toSorted()).toEqual([
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

/** Nothing goes on any more, and a moment later neither. */
export async function rest(client: GatewayClient, url: string): Promise<Rows> {
  const deadline = Date.now() + WITHIN_MS;
  for (let before = ''; ; ) {
    const rows = await rowsOf(url);
    const goesOn = await goingOn(rows, client);
    const now = JSON.stringify(goesOn);
    if (goesOn.length === 0 && before === now) return rows;
    if (Date.now() > deadline) throw new Error(`it does not come to rest: ${now}`);
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

const RUNS: ReadonlySet<string> = new Set(['queued', 'running']);

async function goingOn(rows: Rows, client: GatewayClient): Promise<readonly unknown[]> {
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

/** By label or talk, in what state each is. */
export async function statesOf(
  { subagents, conversations }: Begun,
  stored: Stored,
): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const { id, label = '' } of subagents)
    found[label] = await stored.stateOf(subagentAddress(TENANT, id));
  for (const { id, requester } of conversations)
    found[talkOf(requester)] = await stored.stateOf(conversationAddress(TENANT, id));
  return found;
}

/** Of a requester: what it was told. */
export const talkOf = (sessionKey: string): Talk =>
  TALKS.find((talk) => sessionKey.startsWith(`agent:main:${talk}-`))!;

export async function rowsOf(url: string): Promise<Rows> {
  const { subagents } = await read<Pick<Rows, 'subagents'>>(url, 'subagents?all=true');
  const { conversations } = await read<Pick<Rows, 'conversations'>>(url, 'conversations');
  const census = await read<SubagentCensus>(url, 'subagents/census');
  const dead = await read<{ dead_letters: readonly unknown[] }>(url, 'dead-letters');
  return { subagents, conversations, census, deadLetters: dead.dead_letters };
}

/** An operator ends it: the answer may be lost, and it may be asked for again. */
export async function killSubagent(url: string, id: string): Promise<void> {
  const body = JSON.stringify({ reason: 'it is enough' });
  await fetch(placeOf(url, `subagents/${id}/kill`), { ...AUTHORIZED, method: 'POST', body });
}

/** All that never end by themselves. */
export async function killDoomed(url: string): Promise<void> {
  const { subagents } = await rowsOf(url);
  for (const { id, label } of subagents) if (label === 'doomed-1') await killSubagent(url, id);
}

const AUTHORIZED = { headers: { authorization: `Bearer ${TOKEN}` } };
const placeOf = (url: string, path: string): string => `${url.replace('ws:', 'http:')}/v1/${path}`;

async function read<T>(url: string, path: string): Promise<T> {
  const answer = await fetch(placeOf(url, path), AUTHORIZED);
  expect({ path, status: answer.status }).toEqual({ path, status: 200 });
  return (await answer.json()) as T;
}

/** A door without workers for a moment says so; the same message may come again. */
async function send(client: GatewayClient, { sessionKey, message, runId }: Told): Promise<void> {
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

/** @throws what the run ended with, when it is not ok */
async function endOf(client: GatewayClient, runId: string): Promise<void> {
  const params = { runId, timeoutMs: WITHIN_MS };
  const { status } = await client.request('agent.wait', params, { timeoutMs: 0 });
  expect({ runId, status }).toEqual({ runId, status: 'ok' });
}
