/**
 * Runs a pattern: starts troupe in this process with the pattern's configuration file, sends the
 * message to its agent, waits until all resulting work has ended, and draws a diagram.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import JSON5 from 'json5';
import {
  type ConversationRow,
  drawTrace,
  type DrawnTrace,
  type RunRow,
  type RunTrace,
  sessionAddress,
  sessionKey,
  type SessionRow,
  startTroupe,
  type SubagentRow,
  type Troupe,
} from 'troupe/agents';
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
  readonly env?: Readonly<Record<string, string | undefined>>;
};

const TENANT = 'default';
const LONGEST_MS = 10 * 60_000;

export async function play(pattern: Pattern, options: PlayOptions): Promise<Played> {
  const data = mkdtempSync(join(tmpdir(), 'troupe-pattern-'));
  const { configFile, model, env = {} } = options;
  const troupe = await startTroupe({
    data,
    port: 0,
    env,
    settings: settingsOf(readFileSync(configFile, 'utf8'), model),
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

/** The configuration of a pattern, with another model for each of its agents. */
function settingsOf(text: string, model: string | undefined): Record<string, unknown> {
  const settings = JSON5.parse<{ agents: { agents: object[] } }>(text);
  const own = model === undefined ? {} : { model };
  const agents = settings.agents.agents.map((agent) => ({ ...agent, ...own }));
  return { ...settings, log: { level: 'warn' }, agents: { ...settings.agents, agents } };
}

/** Sends a user's message to the agent's main session. Returns the id of its run. */
async function say({ system }: Troupe, agentId: string, text: string): Promise<string> {
  const runId = crypto.randomUUID();
  const answer = await system.ask(
    sessionAddress(TENANT, sessionKey.main(agentId)),
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
    rows<ConversationRow>('conversations').every(({ status }) => status === 'ended') &&
    rows<SubagentRow>('subagents').every(
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
