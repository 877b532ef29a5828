/**
 * A tree of subagents on the offline model: a root that starts children that start leaves, and a
 * check of their results. Used embedded and in a cluster.
 *
 * A tree ends when the run of its root that reads the last report ends. It counts only if each
 * subagent completed and each result occurs once in the transcript of its parent.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { GatewayClient } from '../../client/gateway-client.ts';
import type { SubagentRow } from '../../protocols/subagent.ts';
import { type Program, PROGRAM_TOKEN } from './program.ts';

type TreeShape = { readonly children: number; readonly leavesOfEach: number };
export const sizeOf = ({ children, leavesOfEach }: TreeShape): number =>
  children * (leavesOfEach + 1);

/**
 * An answer contains at most 32 calls, and the offline model continues with the latest text. An
 * agent that needed a second answer might receive a report before it. A grant is a quarter of what
 * is left of the tree's count, so wide trees need a high count.
 */
export const TREE: TreeShape = { children: 31, leavesOfEach: 32 };
export const SMALL_TREE: TreeShape = { children: 2, leavesOfEach: 2 };
/** Time that reports of one message wait for further ones, milliseconds. */
const QUIET_MS = 50;
const LONGEST_MS = 150_000;
/** Calls that one answer of a model may contain. */
const CALLS_OF_ROUND = 32;

/** No limit is reached, because the benchmark measures the work. */
export async function configureTrees(folder: string): Promise<void> {
  const data = join(folder, 'data');
  await mkdir(data, { recursive: true });
  const agents = {
    defaults: { sandbox: { mode: 'none' } },
    agents: [{ id: 'main', tools: { allow: ['group:sessions'] } }],
    spawnDefaults: {
      maxSpawnDepth: 3,
      maxConcurrentSpawns: 100,
      maxSpawnsPerSession: 1_000_000,
      maxSpawnsPerTree: 1_000_000,
      maxTokensPerTree: 1_000_000_000,
      sandbox: { maxTokens: 10_000_000, allowlist: ['sessions_spawn'], denylist: ['bash'] },
    },
  };
  const messages = { queue: { mode: 'followup', debounceMs: QUIET_MS } };
  const config = { log: { level: 'warn' }, messages, agents };
  await writeFile(join(data, 'troupe.json5'), JSON.stringify(config));
}

const call = (args: object): string => `call sessions_spawn ${JSON.stringify(args)}`;

function rounds(calls: readonly string[]): string {
  const texts: string[] = [];
  for (let from = 0; from < calls.length; from += CALLS_OF_ROUND)
    texts.push(calls.slice(from, from + CALLS_OF_ROUND).join(' and '));
  return texts.join(' then ');
}

const many = (count: number, callOf: (at: number) => string): string =>
  rounds(Array.from({ length: count }, (_, at) => callOf(at)));

const leaf = (label: string): string =>
  call({ label, task: `say ${label}`, tools: [], maxTokens: 5_000 });
const messageOf = ({ children, leavesOfEach }: TreeShape): string =>
  many(children, (c) =>
    call({ label: `c${c}`, task: many(leavesOfEach, (l) => leaf(`c${c}l${l}`)) }),
  );

/** Runs a tree. Resolves with its seconds, from the request to the end of its last run. */
export async function grow(
  client: GatewayClient,
  session: string,
  shape: TreeShape,
): Promise<number> {
  const sessionKey = `agent:main:${session}`;
  const over = lastRun(client, sessionKey, shape.children);
  const begun = performance.now();
  const params = { message: messageOf(shape), sessionKey: session, idempotencyKey: randomUUID() };
  const { status } = await client.request('agent', params, { expectFinal: true });
  if (status !== 'ok') throw new Error(`the run that starts the tree ended ${status}`);
  return ((await over) - begun) / 1_000;
}

type AgentEvent = {
  readonly runId: string;
  readonly stream: string;
  readonly data: { readonly phase?: string; readonly sessionKey?: string };
};

/** Resolves when the session's last run has ended and its transcript contains all reports. */
function lastRun(client: GatewayClient, sessionKey: string, reports: number): Promise<number> {
  const runs = new Set<string>();
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => stop(new Error(`${sessionKey}: no end`)), LONGEST_MS);
    const off = client.on('agent', (payload) => {
      const { runId, stream, data } = payload as AgentEvent;
      if (stream !== 'lifecycle') return;
      if (data.phase === 'start' && data.sessionKey === sessionKey) runs.add(runId);
      if (data.phase !== 'start' && runs.delete(runId)) void look(performance.now());
    });
    const stop = (end: Error | number) => {
      clearTimeout(late);
      off();
      if (typeof end === 'number') resolve(end);
      else reject(end);
    };
    const look = async (at: number) => {
      try {
        if ((await reportsIn(client, sessionKey)).length >= reports && runs.size === 0) stop(at);
      } catch (error) {
        stop(error as Error);
      }
    };
  });
}

/** Labels of the subagents whose results are in the session's transcript, in its order. */
async function reportsIn(client: GatewayClient, sessionKey: string): Promise<string[]> {
  const { messages } = await client.request('chat.history', { sessionKey, limit: 1_000 });
  return messages
    .filter(({ role }) => role === 'user')
    .map(({ content }) => content)
    .flatMap((parts) => (typeof parts === 'string' ? [parts] : parts.map(({ text }) => text ?? '')))
    .filter((text) => text.startsWith('[Results of subagents]'))
    .flatMap((text) => [...text.matchAll(/^Subagent \d+ "([^"\n]*)": completed$/gm)])
    .map(([, label = '']) => label);
}

/**
 * Counts the subagents of an ended tree.
 *
 * @throws Error when a subagent is missing or did not complete, or a result does not occur exactly
 *   once
 */
export async function account(
  { port }: Pick<Program, 'port'>,
  client: GatewayClient,
  session: string,
  { children, leavesOfEach }: TreeShape,
): Promise<void> {
  const check = async (sessionKey: string, labels: readonly string[]) => {
    const rows = await subagentsOf(port, sessionKey);
    const completed = rows.filter(({ status, reported }) => status === 'completed' && reported);
    if (rows.length !== labels.length || completed.length !== labels.length)
      throw new Error(
        `${sessionKey}: ${completed.length} of ${rows.length} completed, not ${labels.length}`,
      );
    const reported = (await reportsIn(client, sessionKey)).toSorted();
    if (reported.join(' ') !== labels.toSorted().join(' '))
      throw new Error(
        `${sessionKey}: ${reported.length} results reported, ${labels.length} requested`,
      );
    return rows;
  };
  const names = Array.from({ length: children }, (_, c) => `c${c}`);
  for (const { label, sessionKey } of await check(`agent:main:${session}`, names)) {
    const leaves = Array.from({ length: leavesOfEach }, (_, l) => `${label}l${l}`);
    await check(sessionKey, leaves);
  }
}

async function subagentsOf(port: number, sessionKey: string): Promise<readonly SubagentRow[]> {
  const query = `session=${encodeURIComponent(sessionKey)}&all=true`;
  const headers = { authorization: `Bearer ${PROGRAM_TOKEN}` };
  const response = await fetch(`http://127.0.0.1:${port}/v1/subagents?${query}`, { headers });
  return ((await response.json()) as { subagents: readonly SubagentRow[] }).subagents;
}
