/** Row: the index row of a conversation, and its answers to operators. Pure. */
import {
  type ConversationRow,
  CONVERSATIONS_INDEX,
  conversationRowKey,
  type ConversationStatus,
} from '../../protocols/conversation.ts';
import type { Project, Reply } from '../../protocols/statechart.ts';
import { aboutOf, type ActionArgs, metaOf } from './action-result.ts';
import { firstOf } from '../kit/text.ts';
import type { ConversationContext } from './types.ts';

const PREVIEW_CHARACTERS = 120;
const OPERATOR = 'operator';

function statusOf({ endedAt, turns }: ConversationContext): ConversationStatus {
  if (endedAt !== undefined) return 'ended';
  const { turn } = turns.at(-1)!;
  if (turn === 'announce') return 'announcing';
  return turn === 0 ? 'asking' : 'replying';
}

export function rowOf(context: ConversationContext): ConversationRow {
  const { id, createdAt, delivered, turns, lineage, endedAt, end, reason } = context;
  const { requester, requesterRunId, target, text } = aboutOf(context);
  return {
    id,
    requester,
    requesterRunId,
    target,
    status: statusOf(context),
    delivered,
    turns,
    text: preview(text),
    hops: lineage.hops,
    createdAt,
    ...(endedAt === undefined ? {} : { endedAt }),
    ...(end === undefined ? {} : { end }),
    ...(reason === undefined ? {} : { reason: preview(reason) }),
  };
}

const preview = (text: string): string =>
  firstOf(text.replaceAll(/\s+/g, ' ').trim(), PREVIEW_CHARACTERS);

const keyOf = (context: ConversationContext): string =>
  conversationRowKey(aboutOf(context).requester, context.id);

export const row = (context: ConversationContext): Project => ({
  index: CONVERSATIONS_INDEX,
  key: keyOf(context),
  value: rowOf(context),
});
export const noRow = ({ context }: ActionArgs): Project => ({
  index: CONVERSATIONS_INDEX,
  key: keyOf(context),
  value: null,
});

// ---- operators

/** A user through an entry point, never an actor: agents end their exchange by their replies. */
export const isByOperator = ({ event }: ActionArgs): boolean => {
  const { from, principal } = metaOf(event);
  return from === undefined && (principal?.roles.includes(OPERATOR) ?? false);
};

export const replyStopped = ({ event }: ActionArgs): Reply => ({
  to: metaOf(event).reply,
  result: { ended: true },
});
export const replyOver = ({ event }: ActionArgs): Reply => ({
  to: metaOf(event).reply,
  result: { ended: false },
});
export const forbidden = ({ context, event }: ActionArgs): Reply => ({
  to: metaOf(event).reply,
  error: {
    code: 'FORBIDDEN',
    message: `conversation ${context.id} can be ended by a principal with the role ${OPERATOR}`,
  },
});
export const unknown = ({ context, event }: ActionArgs): Reply => ({
  to: metaOf(event).reply,
  error: {
    code: 'NOT_FOUND',
    message: `there is no conversation ${context.id}: \`troupe conversations list\` shows those there are`,
  },
});
