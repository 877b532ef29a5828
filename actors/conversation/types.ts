/** The context of a conversation. It is small, because the messages are in the transcripts. */
import type {
  ConversationBegin,
  ConversationEnd,
  ConversationRow,
  ConversationTurn,
  ConversationUnwait,
} from '../../protocols/conversation.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { Lineage } from '../../protocols/lineage.ts';
import type { RunAccepted, RunEnded } from '../../protocols/session.ts';
import type { Delivered } from '../../protocols/statechart.ts';

export type ConversationContext = {
  readonly tenant: string;
  readonly id: string;
  readonly createdAt: number;
  /** absent before the request; `text` is cut to the part that is quoted */
  readonly about?: Omit<ConversationBegin, 'type' | 'lineage'>;
  /** of the next requested run */
  readonly lineage: Lineage;
  /** the target's session has the message */
  readonly delivered: boolean;
  /** the requester's session has its answer, which is sent once */
  readonly answered: boolean;
  /** why the requester no longer waits */
  readonly released?: string;
  /** the last one is awaited */
  readonly turns: readonly ConversationTurn[];
  /** the first answer as it is quoted; absent if there was none */
  readonly first?: string;
  /** the last non-empty answer */
  readonly latest: string;
  /** users have written to the target's session */
  readonly hasAudience: boolean;
  readonly endedAt?: number;
  readonly end?: NonNullable<ConversationRow['end']>;
  readonly reason?: string;
};

/** What a session answers to `session.receive`. */
export type ReceiveReply = {
  readonly type: 'reply';
  readonly to: string;
  readonly result?: RunAccepted;
  readonly error?: ErrorData;
};

export type ConversationEvent =
  | Delivered<ConversationBegin>
  | Delivered<ConversationUnwait>
  | Delivered<ConversationEnd>
  | Delivered<ReceiveReply>
  | Delivered<RunEnded>;
