/** Types of the chat actor. */
import type { Address } from '../../protocols/address.ts';
import type {
  AccountRef,
  ChatDeliver,
  ChatInbound,
  ChatOutcome,
  ChatRef,
  SendOutcome,
} from '../../protocols/channel.ts';
import type { FilePart } from '../../protocols/content.ts';
import type { ReportInput } from '../../protocols/channel-effects.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { RunAccepted, RunEnded } from '../../protocols/session.ts';
import type { Delivered } from '../../protocols/statechart.ts';

/** A message that the session has and has not answered. */
export type OpenRun = {
  readonly runId: string;
  readonly sessionKey: string;
  /** of the message in the chat */
  readonly messageId: string;
  /** the session has confirmed it */
  readonly isAccepted: boolean;
};

/** Text and files that are being sent, piece by piece. */
export type Delivery = {
  readonly id: string;
  readonly text: string;
  readonly files?: readonly FilePart[];
  /** index of the next piece */
  readonly piece: number;
  readonly isOnePiece?: true;
  readonly runId?: string;
  readonly sessionKey?: string;
  /** it is not known of an earlier piece whether it was sent */
  readonly isUnknown?: true;
  readonly replyTo?: string;
  /** the message that shows the beginning of this text already; the first piece replaces it */
  readonly editOf?: string;
};

/** What hooks learn of a delivery. */
export type Ended = Omit<ReportInput, 'tenant' | 'channel' | 'account'>;

/** What is shown while a run is active. */
export type Live = {
  readonly runId: string;
  readonly sessionKey: string;
  /** the preview is being sent; deliveries wait, because they may replace it */
  readonly isPending?: true;
  /** of the preview */
  readonly messageId?: string;
};

export type ChatContext = AccountRef & {
  readonly self: Address;
  readonly tenant: string;
  /** null before the first message */
  readonly chat: ChatRef | null;
  /** the message whose hooks and downloads run */
  readonly preparing: ChatInbound | null;
  /** at most OPEN_RUNS_MAX */
  readonly open: readonly OpenRun[];
  readonly live: Live | null;
  /** at most DELIVERIES_MAX; the first one is being sent */
  readonly queue: readonly Delivery[];
  /** attempts of the current piece */
  readonly attempts: number;
  /** shard time of the first of them */
  readonly firstTriedAt: number;
  /** questions about an attempt with an unknown outcome */
  readonly checks: number;
  /** what the service proved about the current piece */
  readonly proof?: SendOutcome | null;
  readonly waitMs: number;
  /** shard time before which the service takes no message in this chat */
  readonly restUntil?: number;
  /** hooks learn what was sent, as of the last message */
  readonly isObserved?: boolean;
  /** the delivery that has ended, until the hooks have seen it */
  readonly ended?: Ended | null;
  /** ids of the last deliveries, so that a repeat is ignored */
  readonly recent: readonly string[];
};

export type ChatEvent =
  | Delivered<ChatInbound>
  | Delivered<ChatDeliver>
  | Delivered<ChatOutcome>
  | Delivered<RunEnded>
  | Delivered<{ type: 'reply'; to: string; result?: RunAccepted; error?: ErrorData }>
  | Delivered<{ type: 'refused'; to: string; message: string; error: ErrorData }>;
