/**
 * Exchange: which side has the turn, what each side receives, and what an end of a run means for
 * the next turn. Pure.
 *
 * Invariants: a turn is requested once, after the end of the previous one. An end or a refusal of
 * another turn changes nothing. There are at most `turns` replies and one announcement.
 */
import {
  ANNOUNCE_SKIP,
  type ConversationTurn,
  MESSAGE_CHARACTERS_MAX,
  PING_PONG_TURNS_MAX,
  REPLY_SKIP,
} from '../../protocols/conversation.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { Lineage } from '../../protocols/lineage.ts';
import type { MessageOrigin, RunEnded, SessionReceive } from '../../protocols/session.ts';
import type { ActorInput, Tell } from '../../protocols/statechart.ts';
import {
  aboutOf,
  type ActionArgs,
  type ActionResult,
  metaOf,
  nowOf,
  on,
  sessionAddress,
} from './action-result.ts';
import { ANNOUNCE_MESSAGE, announceContext, cutTo, quoted, replyContext } from './prompts.ts';
import { firstShare, nextShare } from './shares.ts';
import type { ConversationContext, ReceiveReply } from './types.ts';

export const initialContext = ({ tenant, key, now }: ActorInput): ConversationContext => ({
  tenant,
  id: key,
  createdAt: now,
  lineage: { hops: 0, visited: [], left: 0 },
  delivered: false,
  answered: false,
  turns: [],
  latest: '',
  hasAudience: false,
});

// ---- requests

type Asked = {
  readonly turn: ConversationTurn['turn'];
  readonly sessionKey: string;
  readonly message: Pick<SessionReceive, 'text' | 'extraSystemPrompt' | 'priority'>;
  readonly origin: MessageOrigin['kind'];
  readonly lineage: Lineage;
};

/** A separate run in that session, whose end is sent to this conversation. */
function ask(
  { context, event }: ActionArgs,
  asked: Asked,
): Required<Pick<ActionResult, 'change' | 'tells'>> {
  const { turn, sessionKey, message, origin, lineage } = asked;
  const { requester, target } = aboutOf(context);
  const runId = `talk-${context.id}-${turn}`;
  const other = sessionKey === requester ? target : requester;
  const receive: SessionReceive = {
    type: 'session.receive',
    runId,
    ...message,
    queue: 'followup',
    origin: { kind: origin, sessionKey: other, ids: [context.id] },
    lineage,
    notify: true,
  };
  const to: Tell = { to: sessionAddress(context, sessionKey), event: receive, ask: true };
  const asking: ConversationTurn = { turn, sessionKey, runId, at: nowOf(event) };
  return { change: { turns: [...context.turns, asking] }, tells: [to] };
}

/** Sends the message to the target. */
export const begin = on('conversation.begin', ({ context, event }): ActionResult => {
  const { type: _, meta, lineage, ...given } = event;
  const turns = Math.max(0, Math.min(given.turns, PING_PONG_TURNS_MAX));
  const about = { ...given, turns, text: quoted(given.text) };
  const { given: share, kept } = firstShare(lineage);
  const { change, tells } = ask(
    { context: { ...context, about }, event },
    {
      turn: 0,
      sessionKey: given.target,
      message: {
        text: cutTo(MESSAGE_CHARACTERS_MAX, given.text),
        ...(given.priority === 'normal' ? {} : { priority: given.priority }),
      },
      origin: 'agent',
      lineage: share,
    },
  );
  return { change: { ...change, about, lineage: kept, createdAt: meta.now }, tells };
});

/** Sends one side the last message of the other side. */
export function askReply(at: ActionArgs): ActionResult {
  const { context } = at;
  const { requester, target, turns } = aboutOf(context);
  const turn = nextTurn(context);
  const role = isRequesters(turn) ? 'requester' : 'target';
  const { given, kept } = nextShare(context.lineage, [requester, target]);
  const { change, tells } = ask(at, {
    turn,
    sessionKey: role === 'requester' ? requester : target,
    message: {
      text: context.latest,
      extraSystemPrompt: replyContext({ role, turn, turnsMax: turns, requester, target }),
    },
    origin: 'agent',
    lineage: given,
  });
  return { change: { ...change, lineage: kept }, tells };
}

/** The target announces the result to its users, or stays silent. */
export function askAnnouncement(at: ActionArgs): ActionResult {
  const { context } = at;
  const { requester, target, text } = aboutOf(context);
  const { given, kept } = nextShare(context.lineage, [requester, target]);
  const { change, tells } = ask(at, {
    turn: 'announce',
    sessionKey: target,
    message: {
      text: ANNOUNCE_MESSAGE,
      extraSystemPrompt: announceContext({
        request: text,
        first: context.first,
        latest: context.latest,
      }),
    },
    origin: 'announce',
    lineage: given,
  });
  return { change: { ...change, lineage: kept }, tells };
}

// ---- which side has the turn

/**
 * The first answer is turn 0, so that the number of the next turn is the number of earlier turns.
 */
const nextTurn = ({ turns }: ConversationContext): number => turns.length;
const isRequesters = (turn: number): boolean => turn % 2 === 1;
const goesOn = (context: ConversationContext): boolean => context.end === undefined;

export const requesterIsNext = ({ context }: ActionArgs): boolean =>
  goesOn(context) && isRequesters(nextTurn(context));
export const targetIsNext = ({ context }: ActionArgs): boolean => goesOn(context);
export const hasToAnnounce = ({ context }: ActionArgs): boolean =>
  context.first !== undefined && context.hasAudience;

// ---- answers

const awaited = ({ turns }: ConversationContext): ConversationTurn => turns.at(-1)!;

export const isAwaited = on(
  'run.ended',
  ({ context, event }): boolean => event.runId === awaited(context).runId,
);

/** The requested session has the message. */
export const isAcceptance = on(
  'reply',
  ({ context, event }): boolean => event.result?.runId === awaited(context).runId,
);

/**
 * The requested session refuses the message. A refusal ends the exchange, so one of an earlier turn
 * cannot arrive later.
 */
export const isRefusal = on(
  'reply',
  ({ context, event }): boolean =>
    event.error !== undefined &&
    metaOf(event).from === sessionAddress(context, awaited(context).sessionKey),
);

export const refusalOf = ({ error }: ReceiveReply): ErrorData => error!;

/** '' if the agent's answer is empty or requests no further turn. */
export function replyOf(text: string): string {
  const word = text.trim();
  return word === REPLY_SKIP || word === ANNOUNCE_SKIP ? '' : text;
}
const isSilent = (text: string): boolean => replyOf(text).trim() === '';

export const deliver = (): ActionResult => ({ change: { delivered: true } });

/** Handles the end of the awaited run: requests the next turn, or stores why there is none. */
export const onRunEnded = on('run.ended', ({ context, event: ended }): ActionResult => {
  const { target } = aboutOf(context);
  const isTargets = ended.sessionKey === target;
  const end = endBy(context, ended);
  const spoke = isAnswer(ended) && !isSilent(ended.text);
  const said = cutTo(MESSAGE_CHARACTERS_MAX, ended.text);
  return {
    change: {
      delivered: true,
      turns: closed(context, {
        endedAt: nowOf(ended),
        status: ended.status,
        ...(ended.status === 'ok' && !spoke ? { skipped: true as const } : {}),
      }),
      ...(spoke && awaited(context).turn === 0 ? { first: quoted(said) } : {}),
      ...(spoke ? { latest: said } : {}),
      ...(isTargets ? { hasAudience: ended.channel !== undefined } : {}),
      ...end,
    },
  };
});

/** This message joined another run, whose answer belongs to another sender. */
const isAnswer = ({ status, joined }: RunEnded): boolean => status === 'ok' && joined === undefined;

function endBy(
  context: ConversationContext,
  ended: RunEnded,
): Pick<ConversationContext, 'end' | 'reason'> {
  if (ended.joined !== undefined) return { end: 'failed', reason: `it joined ${ended.joined}` };
  if (ended.status !== 'ok')
    return { end: 'failed', reason: ended.error?.message ?? `the run ended as ${ended.status}` };
  if (isSilent(ended.text)) return { end: 'skipped' };
  return nextTurn(context) > aboutOf(context).turns ? { end: 'turns' } : {};
}

/**
 * The announcement's run has ended: no turn follows, and the reason of the end is already stored.
 */
export const onAnnouncement = on('run.ended', (at): ActionResult => {
  const { status, text } = at.event;
  const skipped = status === 'ok' && isSilent(text) ? { skipped: true as const } : {};
  return {
    change: { turns: closed(at.context, { endedAt: nowOf(at.event), status, ...skipped }) },
  };
});

/**
 * A queue is full or a session was deleted: the exchange ends, and the requester keeps its answer.
 */
export const onRefusal = on('reply', ({ context, event }): ActionResult => {
  const turns = closed(context, { endedAt: nowOf(event), status: 'refused' });
  const isAnnouncement = awaited(context).turn === 'announce';
  const reason = refusalOf(event).message;
  return { change: { turns, ...(isAnnouncement ? {} : { end: 'refused' as const, reason }) } };
});

const closed = (
  { turns }: ConversationContext,
  fields: Partial<ConversationTurn>,
): readonly ConversationTurn[] => [...turns.slice(0, -1), { ...turns.at(-1)!, ...fields }];

// ---- the end

export const lose = (): ActionResult => ({
  change: { end: 'lost', reason: 'the session that was asked did not end its run in time' },
});

export const stop = (): ActionResult => ({
  change: { end: 'ended', reason: 'an operator ended it' },
});

export const conclude = ({ event }: ActionArgs): ActionResult => ({
  change: { endedAt: nowOf(event) },
});
