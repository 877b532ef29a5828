/** The messages of a subagent to its session, its parent and subscribers. Pure. */
import { type RunEvent, runEventsTopic, type SessionReceive } from '../../protocols/session.ts';
import type { Project, Publish, Reply, Tell } from '../../protocols/statechart.ts';
import {
  FINDINGS_CHARACTERS_MAX,
  type SubagentEnded,
  type SubagentRow,
  type SubagentStatus,
  subagentRowKey,
  subagentRunId,
  SUBAGENTS_INDEX,
} from '../../protocols/subagent.ts';
import { cutMiddle } from '../../agent/context/cut.ts';
import { firstOf } from '../kit/text.ts';
import { sum } from '../../protocols/models/model-usage.ts';
import { PLACE_MS, reservedOf, wholeTimeMs } from './life.ts';
import { childAddress, childKey, parentAddress } from './places.ts';
import type { Args, SubagentContext } from './types.ts';

const ROW_TEXT_CHARACTERS = 120;

// ---- to its session

export function task({ context }: Args): Tell {
  const { id, reserved, parent } = context;
  const { terms, task: text, lineage, principal } = reservedOf(context);
  const event: SessionReceive = {
    type: 'session.receive',
    runId: subagentRunId(context.id),
    text,
    origin: { kind: 'task', sessionKey: parent ?? reserved!.terms.parent, ids: [id] },
    lineage,
    notify: true,
    terms,
    timeoutMs: terms.timeoutMs,
    queue: 'followup',
  };
  return { to: childAddress(context), event, ask: true, ...(principal ? { principal } : {}) };
}

/**
 * Joins the active run; the text is an agent's, so it is never folded. It brings no messages: those
 * of the grant came with the task.
 */
export function steer({ context, event }: Args): Tell {
  const { id, steers, shownUnder } = context;
  const said: SessionReceive = {
    type: 'session.receive',
    runId: `steer-${id}-${steers}`,
    text: event.type === 'subagent.steer' ? event.text : '',
    origin: { kind: 'agent', sessionKey: shownUnder, ids: [id] },
    lineage: { ...reservedOf(context).lineage, left: 0 },
    queue: 'steer',
  };
  return { to: childAddress(context), event: said };
}

export const abort = ({ context }: Args): Tell => ({
  to: childAddress(context),
  event: { type: 'session.abort' },
});
/** All that its session has started. */
export const killBelow = ({ context }: Args): Tell => ({
  to: childAddress(context),
  event: { type: 'session.kill', reason: context.stop!.error.message },
});
export const close = ({ context }: Args): Tell => ({
  to: childAddress(context),
  event: { type: 'session.close', orphans: 'cascade' },
});

// ---- to its parent

export const end = (args: Args): Tell => ({
  to: parentAddress(args.context)!,
  event: endedOf(args.context),
});
export const endAgain = (args: Args): Tell => ({
  to: parentAddress(args.context)!,
  event: { ...endedOf(args.context), again: true },
});

function endedOf(context: SubagentContext): SubagentEnded {
  const { id, text, below, startedAt, endedAt, outcome, stop } = context;
  const { label, task: whole } = reservedOf(context);
  return {
    type: 'subagent.ended',
    id,
    sessionKey: childKey(context),
    runId: subagentRunId(context.id),
    outcome: outcome!,
    findings: findingsOf(text, childKey(context)),
    task: firstOf(whole, ROW_TEXT_CHARACTERS),
    usage: usageOf(context),
    spawned: below.spawned,
    endedAt: endedAt!,
    ...(label === undefined ? {} : { label }),
    ...(stop ? { error: stop.error } : {}),
    ...(startedAt === null ? {} : { startedAt }),
  };
}
/** A cut text says where the complete one can be read. */
function findingsOf(text: string, sessionKey: string): string {
  if (text.length <= FINDINGS_CHARACTERS_MAX) return text;
  const note = `\n[whole in the transcript of ${sessionKey}]`;
  return cutMiddle(text, FINDINGS_CHARACTERS_MAX - note.length) + note;
}
const usageOf = ({ usage, below }: SubagentContext) => sum(usage, below.usage);

// ---- to those who look on

const published = (
  context: SubagentContext,
  at: number,
  phase: Phase,
): Publish & { readonly event: RunEvent & { type: 'run' } } => {
  const { tenant, id, shownUnder } = context;
  const { parentRunId, label } = reservedOf(context);
  const event: RunEvent = {
    runId: parentRunId,
    sessionKey: shownUnder,
    at,
    stream: 'subagent',
    id,
    childRunId: subagentRunId(context.id),
    childSessionKey: childKey(context),
    ...(label === undefined ? {} : { label }),
    ...phase,
  };
  return { topic: runEventsTopic(tenant, shownUnder), event: { type: 'run', ...event } };
};
type Phase =
  | { readonly phase: 'start'; readonly startedAt: number }
  | { readonly phase: 'end'; readonly endedAt: number; readonly outcome: 'ok' }
  | {
      readonly phase: 'error';
      readonly endedAt: number;
      readonly outcome: 'error';
      readonly errorMessage: string;
    };

export const startEvent = ({ context, event }: Args): Publish =>
  published(context, event.meta.now, { phase: 'start', startedAt: context.startedAt! });

export const endEvent = ({ context }: Args): Publish => {
  const endedAt = context.endedAt!;
  const { stop } = context;
  return published(
    context,
    endedAt,
    stop
      ? { phase: 'error', endedAt, outcome: 'error', errorMessage: stop.error.message }
      : { phase: 'end', endedAt, outcome: 'ok' },
  );
};

const statusOf = ({ outcome, isAccepted, startedAt }: SubagentContext): SubagentStatus => {
  if (outcome) return outcome;
  if (startedAt === null) return 'reserved';
  return isAccepted ? 'running' : 'starting';
};

const keyOf = ({ shownUnder, id }: SubagentContext): string => subagentRowKey(shownUnder, id);

export function row({ context }: Args): Project {
  const { id, createdAt, startedAt, endedAt, shownUnder, stop, reportedBy, counted } = context;
  const { parentRunId, label, task: whole, terms } = reservedOf(context);
  const until = startedAt === null ? createdAt + PLACE_MS : startedAt + wholeTimeMs({ context });
  const value: SubagentRow = {
    id,
    sessionKey: childKey(context),
    runId: subagentRunId(context.id),
    agentId: terms.agentId,
    parent: shownUnder,
    parentRunId,
    root: terms.root,
    depth: terms.depth,
    status: statusOf(context),
    task: firstOf(whole, ROW_TEXT_CHARACTERS),
    tokens: terms.tokens,
    createdAt,
    ...(stop ? { reason: stop.error.message } : {}),
    ...(label === undefined ? {} : { label }),
    ...(counted.length === 0 ? {} : { usage: usageOf(context) }),
    ...(startedAt === null ? {} : { startedAt }),
    ...(endedAt === null ? { until } : { endedAt }),
    ...(reportedBy === null ? {} : { reported: reportedBy }),
  };
  return { index: SUBAGENTS_INDEX, key: keyOf(context), value };
}
export const noRow = ({ context }: Args): Project => ({
  index: SUBAGENTS_INDEX,
  key: keyOf(context),
  value: null,
});

// ---- answers

export const unknown = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  error: {
    code: 'NOT_FOUND',
    message: `there is no subagent ${context.id}: \`troupe subagents list --all\` shows them`,
  },
});
export const killed = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  result: { killed: [context.id] },
});
export const killedNothing = ({ event }: Args): Reply => ({
  to: event.meta.reply,
  result: { killed: [] },
});
export const delivered = ({ event }: Args): Reply => ({
  to: event.meta.reply,
  result: { delivered: true },
});
export const unsaid = ({ event }: Args): Reply => ({
  to: event.meta.reply,
  error: {
    code: 'INVALID_ARGUMENT',
    message: 'say something to the subagent, in at most 32,768 characters',
  },
});
/** No run in its session would receive it. */
export const notRunning = ({ context, event }: Args): Reply => {
  const state = context.stop && !context.outcome ? 'being stopped' : statusOf(context);
  const message = `subagent ${context.id} is ${state}: only a running subagent can receive messages`;
  return { to: event.meta.reply, error: { code: 'CONFLICT', message, details: { state } } };
};
