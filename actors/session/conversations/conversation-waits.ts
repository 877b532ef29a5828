/**
 * Waits: messages to other sessions for which a call waits, and detection of waits that would never
 * end. Pure.
 *
 * A session that starts to wait sends a probe along the waits of the sessions it waits for: the
 * algorithm of Chandy, Misra and Haas for requests that all must be answered ("Distributed deadlock
 * detection", 1983). Every cycle of waits has an edge that was created last; its probe finds the
 * other edges and returns, and the wait that closed the cycle is answered.
 *
 * Invariants: a probe passes a session once, so there are never more probes than waits; a call is
 * answered once; a wait is removed when its call has a result or its run has ended.
 */
import { type Address, address } from '../../../protocols/address.ts';
import {
  type ConversationBegin,
  type ConversationResult,
  type ConversationUnwait,
  CONVERSATIONS_PER_RUN_MAX,
  conversationAddress,
  type SessionConverse,
} from '../../../protocols/conversation.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import {
  PROBE_PATH_MAX,
  type SessionCycle,
  type SessionProbe,
} from '../../../protocols/session.ts';
import type { Delivered, Tell } from '../../../protocols/statechart.ts';
import type { Begun, Wait } from '../subagents/related-sessions.ts';
import { type ActionResult, on, runOf, withRun } from '../action-result.ts';
import { onward, refusalOf } from './lineage.ts';
import type { SessionContext } from '../types.ts';

/** Probes that a session remembers as forwarded; a forgotten one may be forwarded again. */
const PROBED_MAX = 64;

export const sessionAt = ({ tenant }: SessionContext, sessionKey: string): Address =>
  address(tenant, 'session', sessionKey);

/** Whether this run is active: a run whose outcome is known starts nothing more. */
export const isActiveRun = ({ run }: SessionContext, runId: string): boolean =>
  run?.runId === runId && run.status === 'running';

// ---- sending a message

/** Sends a message to another session, or refuses it: then nothing was sent. */
export const converse = on('session.converse', (at): ActionResult => {
  const { context, event } = at;
  const asked = event;
  if (!isActiveRun(context, asked.runId)) return refused(asked, 'run-ended');
  const known = (runOf(context).conversations ?? []).find(({ id }) => id === asked.id);
  if (known) return again(context, asked, known);
  const reason = refusal(context, asked);
  return reason ? refused(asked, reason) : sent(context, asked);
});

function refusal(context: SessionContext, asked: SessionConverse): string | undefined {
  const { run, sessionKey } = context;
  if (asked.target === sessionKey) return 'loop';
  const reason = refusalOf(run, sessionKey, asked.target, asked.limits);
  const { conversations = [] } = runOf(context);
  if (reason || conversations.length < CONVERSATIONS_PER_RUN_MAX) return reason;
  return 'conversations';
}

const resultOf = (
  { id, target }: Pick<Wait, 'id' | 'target'>,
  fields: Pick<ConversationResult, 'status' | 'delivered' | 'reason'>,
): ConversationResult => ({
  conversationId: id,
  runId: `talk-${id}-0`,
  sessionKey: target,
  ...fields,
});

const refused = (asked: Delivered<SessionConverse>, reason: string): ActionResult => ({
  answer: {
    to: asked.meta.reply,
    result: resultOf(asked, { status: 'refused', delivered: false, reason }),
  },
});

function sent(context: SessionContext, asked: Delivered<SessionConverse>): ActionResult {
  const { sessionKey, tenant, run, waits = [] } = context;
  const { id, target, limits } = asked;
  const { lineage, left } = onward(run, sessionKey, limits);
  const wait = waitOf(asked);
  const { text, priority, waitMs, turns } = asked;
  const begin: ConversationBegin = {
    type: 'conversation.begin',
    requester: sessionKey,
    requesterRunId: asked.runId,
    target,
    text,
    priority,
    waitMs,
    turns,
    lineage,
  };
  const conversations = [...(runOf(context).conversations ?? []), { id }];
  return {
    change: { ...withRun(context, { lineage: left, conversations }), waits: [...waits, wait] },
    tells: [
      { to: conversationAddress(tenant, id), event: begin },
      ...(wait.blocks ? [probeOf(context, target, { origin: sessionKey, id, path: [] })] : []),
    ],
  };
}

const waitOf = ({ id, target, callId, waitMs, meta }: Delivered<SessionConverse>): Wait => ({
  id,
  target,
  callId,
  reply: meta.reply ?? null,
  blocks: waitMs > 0,
});

/**
 * The call was repeated: it continues to wait, or receives the answer that the message was sent.
 */
function again(
  context: SessionContext,
  asked: Delivered<SessionConverse>,
  known: Begun,
): ActionResult {
  const { waits = [] } = context;
  if (waits.some(({ id }) => id === asked.id)) {
    const reply = asked.meta.reply ?? null;
    return {
      change: { waits: waits.map((one) => (one.id === asked.id ? { ...one, reply } : one)) },
    };
  }
  const { delivered = false, refused: isRefused } = known;
  const result = resultOf(asked, { status: isRefused ? 'refused' : 'accepted', delivered });
  return { answer: { to: asked.meta.reply, result } };
}

/** Answers the waiting call with the current result; for any other call it is too late. */
export const onConversationAnswer = on(
  'conversation.answered',
  ({ context, event }): ActionResult => {
    const { id, result } = event;
    const wait = (context.waits ?? []).find((one) => one.id === id);
    return wait ? answered(context, wait, result) : {};
  },
);

/** The conversation could not be started. */
export const refusedBegin = (context: SessionContext, wait: Wait, error: ErrorData): ActionResult =>
  answered(context, wait, {
    ...resultOf(wait, { status: 'refused', delivered: false, reason: error.message }),
    error,
  });

/** Answers the waiting call. */
function answered(context: SessionContext, wait: Wait, result: ConversationResult): ActionResult {
  const { id } = wait;
  const { conversations = [] } = runOf(context);
  const noted = conversations.map((one) => (one.id === id ? begunOf(id, result) : one));
  return {
    change: {
      ...withRun(context, { conversations: noted }),
      ...waitsWithout(context, (one) => one.id === id),
    },
    answer: { to: wait.reply ?? undefined, result },
  };
}

const begunOf = (id: string, { delivered, status }: ConversationResult): Begun => ({
  id,
  delivered,
  ...(status === 'refused' ? { refused: true } : {}),
});

/** Probes are sent only while a call waits. */
function waitsWithout(
  { waits = [] }: SessionContext,
  leaves: (wait: Wait) => boolean,
): Partial<SessionContext> {
  const left = waits.filter((one) => !leaves(one));
  return left.length > 0 ? { waits: left } : { waits: undefined, probed: undefined };
}

/** Removes the waits of these calls, which have results now. */
export const waitsOfCalls = (
  context: SessionContext,
  callIds: readonly string[],
): Partial<SessionContext> =>
  (context.waits ?? []).some(({ callId }) => callIds.includes(callId))
    ? waitsWithout(context, ({ callId }) => callIds.includes(callId))
    : {};

/** Removes the waits of the ended run; its conversations continue. */
export function waitsAtRunEnd({ waits, probed }: SessionContext): ActionResult {
  if (!waits) return probed ? { change: { probed: undefined } } : {};
  return {
    change: { waits: undefined, probed: undefined },
    answers: waits.map(({ id, target, reply }) => ({
      to: reply ?? undefined,
      result: resultOf(
        { id, target },
        { status: 'accepted', delivered: false, reason: 'run-ended' },
      ),
    })),
  };
}

// ---- cycles of waits

/**
 * Sessions that this one waits for. A subagent's session ends after all below it, so it waits for
 * each of its subagents. A session that waits for a queued subagent also waits for those with a
 * slot.
 */
function awaitedSessions({ waits = [], children = [], terms }: SessionContext): string[] {
  const targets = waits.filter(({ blocks }) => blocks).map(({ target }) => target);
  const isHeld = children.some(({ wait, going }) => wait !== undefined && !going);
  const waited = children.filter(
    ({ wait, going, lost, reportBack }) =>
      !lost && (wait !== undefined || (isHeld && going) || (terms !== undefined && reportBack)),
  );
  return [...new Set([...targets, ...waited.map(({ sessionKey }) => sessionKey)])];
}

const probeOf = (
  context: SessionContext,
  to: string,
  { origin, id, path }: Omit<SessionProbe, 'type'>,
): Tell => {
  const event: SessionProbe = { type: 'session.probe', origin, id, path };
  return { to: sessionAt(context, to), event };
};

/** Whether this session waits for the origin of the probe. Otherwise the probe is passed on. */
export const probe = on('session.probe', ({ context, event }): ActionResult => {
  const { origin, id, path } = event;
  const { sessionKey, probed = [] } = context;
  const next = awaitedSessions(context);
  if (next.includes(origin)) {
    const found: SessionCycle = { type: 'session.cycle', id, path: [...path, sessionKey] };
    return { tells: [{ to: sessionAt(context, origin), event: found }] };
  }
  const others = next.filter((key) => !path.includes(key));
  if (others.length === 0 || probed.includes(id) || path.length >= PROBE_PATH_MAX) return {};
  const further = { origin, id, path: [...path, sessionKey] };
  return {
    change: { probed: [...probed, id].slice(-PROBED_MAX) },
    tells: others.map((key) => probeOf(context, key, further)),
  };
});

/** The cycle is closed: the conversation answers with what is known, and continues afterwards. */
export const cycle = on('session.cycle', ({ context, event }): ActionResult => {
  const { id } = event;
  const wait = (context.waits ?? []).find((one) => one.id === id && one.blocks);
  if (!wait) return {};
  const unwait: ConversationUnwait = { type: 'conversation.unwait', reason: 'wait-cycle' };
  return { tells: [{ to: conversationAddress(context.tenant, id), event: unwait }] };
});
