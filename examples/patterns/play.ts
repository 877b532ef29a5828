/**
 * Runs a pattern: starts troupe in this process with the pattern's configuration file, sends the
 * message to its agent, waits until all resulting work has ended, and draws a diagram.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sessionAddress } from '../../actors/index.ts';
import { drawTrace, type DrawnTrace, startTroupe, type Troupe } from '../../main.ts';
import { type ConversationRow, CONVERSATIONS_INDEX } from '../../protocols/conversation.ts';
import type { RunTrace } from '../../protocols/run-trace.ts';
import type { RunRow, SessionRow } from '../../protocols/session.ts';
import { sessionKey as keys } from '../../protocols/session-key.ts';
import { type SubagentRow, SUBAGENTS_INDEX } from '../../protocols/subagent.ts';
import { ensureToken, loadConfig } from '../../runtime/config/index.ts';
import type { Pattern } from './pattern.ts';

export type Played = DrawnTrace & {
  /** the agent's answers to the user, in order */
  readonly answers: readonly string[];
};

export type PlayOptions = {
  /** of the pattern */
  readonly configFile: string;
  /** `provider/model`, whose key is in the environment; default: the offline model */
  readonly model?: string;
  readonly env?: NodeJS.ProcessEnv;
};

const TENANT = 'default';
const LONGEST_MS = 10 * 60_000;

export async function play(pattern: Pattern, options: PlayOptions): Promise<Played> {
  const data = mkdtempSync(join(tmpdir(), 'troupe-pattern-'));
  const { configFile: file, model, env = {} } = options;
  const loaded = loadConfig({ env, file, flags: { data, port: '0' } });
  const config = ensureToken(loaded.config);
  const { agents } = config;
  const own = model === undefined ? {} : { model };
  const troupe = await startTroupe({
    ...config,
    log: { level: 'warn' },
    agents: { ...agents, agents: agents.agents.map((agent) => ({ ...agent, ...own })) },
  });
  try {
    const text = model === undefined ? pattern.saidOffline : pattern.said;
    const runId = await say(troupe, pattern.agentId, text);
    await quiet(troupe);
    const drawn = await drawTrace(troupe.system, runId);
    return { answers: answersOf(troupe, drawn.trace), ...drawn };
  } finally {
    await troupe.stop();
    rmSync(data, { recursive: true, force: true });
  }
}

/** Sends a user's message to the agent's main session. Returns the id of its run. */
async function say({ system }: Troupe, agentId: string, text: string): Promise<string> {
  const runId = crypto.randomUUID();
  const answer = await system.ask(
    sessionAddress(TENANT, keys.main(agentId)),
    { type: 'session.receive', runId, text, sender: 'ada' },
    { principal: { sub: 'ada', roles: ['operator'] }, key: runId, timeoutMs: 10_000 },
  );
  if (answer.kind !== 'answered')
    throw new Error(`${agentId} did not accept the message: ${answer.kind}`);
  return runId;
}

/**
 * Waits until every session is idle, every conversation has ended and every subagent is reported.
 */
async function quiet({ system }: Troupe): Promise<void> {
  const rows = <Row>(index: string) =>
    system.index.list<Row>(index, TENANT).map(({ value }) => value);
  const isQuiet = () =>
    rows<SessionRow>('sessions').every(({ status, pending }) => status === 'idle' && !pending) &&
    rows<ConversationRow>(CONVERSATIONS_INDEX).every(({ status }) => status === 'ended') &&
    rows<SubagentRow>(SUBAGENTS_INDEX).every(
      ({ status, reported }) => status === 'refused' || reported !== undefined,
    );
  // A report starts a run a moment later, so the condition must hold for some time.
  for (let since = Date.now(), end = since + LONGEST_MS; Date.now() - since < QUIET_MS; ) {
    if (Date.now() > end) throw new Error('it did not end within ten minutes');
    if (!isQuiet()) since = Date.now();
    await sleep(50);
  }
}
/** Longer than results of subagents are collected (`messages.queue.debounceMs`). */
const QUIET_MS = 1_500;

/** A trace contains only the start of a text; the rows of runs contain all of it. */
const answersOf = ({ system }: Troupe, { steps, participants }: RunTrace): readonly string[] => {
  const people = new Set(participants.filter(({ kind }) => kind === 'people').map(({ id }) => id));
  return steps.flatMap((step) =>
    step.kind === 'end' && step.to !== undefined && people.has(step.to) && !step.silent
      ? [system.index.get<RunRow>('runs', TENANT, step.runId)?.text ?? step.text]
      : [],
  );
};
