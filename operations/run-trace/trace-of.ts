/**
 * The steps of everything that a run caused, in one order.
 *
 * Steps are ordered by time, and within a session by its transcript. Causal order overrides clocks.
 * A message follows the call that sends it. A report follows the results that it contains. A turn
 * of a conversation follows the previous turn.
 */
import type { ConversationRow } from '../../protocols/conversation.ts';
import { defined } from '../../protocols/defined.ts';
import {
  type RunTrace,
  type TraceApproval,
  type TraceEffect,
  type TraceParticipant,
  TRACE_DEPTH_MAX,
  TRACE_STEPS_MAX,
  type TraceStep,
} from '../../protocols/run-trace.ts';
import type { RunRow } from '../../protocols/session.ts';
import type { SubagentRow } from '../../protocols/subagent.ts';
import { TraceParticipants } from './participants.ts';
import { type TraceData, gather } from './trace-data.ts';
import { firstWords } from './first-words.ts';
import { inOrder, type Ordered } from './in-order.ts';
import { approvalOf, effectsOf } from './recorded-effects.ts';
import type { TraceReader } from './reader.ts';
import { sessionSteps } from './session-steps.ts';

/**
 * @param depth maximum distance from the run, in messages and spawns; at most TRACE_DEPTH_MAX
 * @throws TroupeError NOT_FOUND when the run does not exist, or has been deleted
 */
export async function traceOf(
  reader: TraceReader,
  runId: string,
  depth: number = TRACE_DEPTH_MAX,
): Promise<RunTrace> {
  const gathered = await gather(reader, runId, Math.min(depth, TRACE_DEPTH_MAX));
  const cast = new TraceParticipants(reader, gathered);
  const lists = [...gathered.sessions.keys()].map((key) => sessionSteps(gathered, cast, key));
  const steps = inOrder([...lists, ...unread(gathered, cast), ...results(gathered, cast)]);
  const { run, deeper, cut } = gathered;
  const shown = steps.slice(0, TRACE_STEPS_MAX);
  const participants = cast.of(shown);
  return {
    runId: run.runId,
    sessionKey: run.sessionKey,
    status: run.status,
    startedAt: run.startedAt ?? run.acceptedAt,
    ...defined({ endedAt: run.endedAt }),
    participants,
    steps: shown,
    ...(await recordedOf(reader, run, participants)),
    left: { steps: steps.length - shown.length, deeper, sessions: cut },
  };
}

/** What the sessions' turns and questions say about the time of the run. */
async function recordedOf(
  reader: TraceReader,
  run: RunRow,
  participants: readonly TraceParticipant[],
): Promise<Pick<RunTrace, 'effects' | 'approvals'>> {
  const period = { startedAt: run.acceptedAt, endedAt: run.endedAt };
  const effects: TraceEffect[] = [];
  const approvals: TraceApproval[] = [];
  for (const { id, kind, sessionKey } of participants) {
    if (kind !== 'session') continue;
    effects.push(...effectsOf(id, await reader.turns(sessionKey), period));
    const asked = (await reader.approvals(sessionKey)).map((row) => approvalOf(id, row));
    const { endedAt = Number.POSITIVE_INFINITY } = period;
    approvals.push(...asked.filter(({ at }) => at >= period.startedAt && at <= endedAt));
  }
  return {
    effects: effects.toSorted((a, b) => a.startedAt - b.startedAt),
    approvals: approvals.toSorted((a, b) => a.at - b.at),
  };
}

/** Ends of subagents, each in its own list: the child's transcript does not contain them. */
const results = (
  { subagents }: TraceData,
  cast: TraceParticipants,
): readonly (readonly Ordered[])[] =>
  [...subagents.values()].flatMap((row) => {
    const { status, endedAt } = row;
    const isOpen = status === 'reserved' || status === 'starting' || status === 'running';
    if (isOpen || status === 'refused' || endedAt === undefined) return [];
    const said = cast.lastSaid(row.sessionKey);
    const step: TraceStep = {
      kind: 'result',
      at: endedAt,
      runId: row.runId,
      from: cast.session(row.sessionKey),
      to: cast.session(row.parent),
      text: firstWords(status === 'completed' ? said : (row.reason ?? said)),
      outcome: status,
      ...usageOf(row),
    };
    return [[{ step, gives: `result:${row.id}`, needs: [`end:${row.runId}`] }]];
  });

const usageOf = ({ usage, startedAt, endedAt }: SubagentRow) => ({
  ...(usage ? { tokens: usage.inputTokens + usage.outputTokens } : {}),
  ...(startedAt === undefined || endedAt === undefined ? {} : { durationMs: endedAt - startedAt }),
});

/** Messages and tasks that are not in a transcript yet, or were refused. */
function unread(gathered: TraceData, cast: TraceParticipants): readonly (readonly Ordered[])[] {
  const { conversations, subagents } = gathered;
  const read = new Set<string>();
  for (const entries of gathered.sessions.values()) {
    for (const entry of entries) {
      if (entry.type !== 'user' || entry.origin === undefined) continue;
      // A report names an ended subagent; if it was killed early, its task is in no transcript.
      if (entry.origin.kind === 'subagents') continue;
      for (const id of entry.origin.ids) read.add(id);
    }
  }
  const messages = [...conversations.values()]
    .filter(({ id }) => !read.has(id))
    .map((row) => [unreadMessage(row, cast)]);
  const tasks = [...subagents.values()]
    .filter(({ id, status }) => !read.has(id) && status !== 'refused')
    .map((row) => [unreadTask(row, cast)]);
  return [...messages, ...tasks];
}

const unreadMessage = (row: ConversationRow, cast: TraceParticipants): Ordered => {
  const { requester, requesterRunId, target, createdAt: at, reason = '' } = row;
  const text = firstWords(row.text);
  const needs = [`call:${requesterRunId}`];
  if (row.status === 'ended' && !row.delivered) {
    const refused = { kind: 'refused', at, runId: requesterRunId, text } as const;
    return { step: { ...refused, in: cast.session(requester), why: firstWords(reason) }, needs };
  }
  const [from, to] = [cast.session(requester), cast.session(target)];
  const runId = row.turns[0]?.runId ?? requesterRunId;
  return { step: { kind: 'message', at, runId, from, to, text, origin: 'agent' }, needs };
};

const unreadTask = (row: SubagentRow, cast: TraceParticipants): Ordered => {
  const { parent, parentRunId, sessionKey, runId, createdAt: at, label } = row;
  const step: TraceStep = {
    kind: 'message',
    at,
    runId,
    from: cast.session(parent),
    to: cast.session(sessionKey),
    text: firstWords(row.task),
    origin: 'task',
    ...defined({ label }),
  };
  return { step, needs: [`call:${parentRunId}`] };
};
