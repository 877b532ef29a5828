/** Types of the channel actor. */
import type {
  AdmissionRule,
  ChannelApprove,
  ChannelConfigure,
  ChannelConnected,
  ChannelObserved,
  ChannelPair,
  ChannelPosition,
  ChannelReject,
  ChannelRestart,
  ChannelRevoke,
  ChannelSender,
  ConnectionState,
} from '../../protocols/channel.ts';
import type { Address } from '../../protocols/address.ts';
import type { Delivered } from '../../protocols/statechart.ts';

/** A request for approval that no operator has decided. */
export type Pairing = {
  readonly code: string;
  readonly sender: ChannelSender;
  readonly at: number;
};
export type Approved = { readonly sender: ChannelSender; readonly at: number };

export type ChannelContext = {
  readonly self: Address;
  readonly tenant: string;
  readonly channel: string;
  readonly account: string;
  readonly isEnabled: boolean;
  /** of the settings with which the account connects */
  readonly digest: string;
  readonly state: ConnectionState;
  /** shard time at which `state` began */
  readonly since: number;
  /** attempts since the last connection that lasted */
  readonly failures: number;
  /** connections established so far */
  readonly connections: number;
  /** of `backoff`, milliseconds */
  readonly waitMs: number;
  readonly identity: string | null;
  readonly name: string | null;
  readonly lastError: string | null;
  readonly inbound: number;
  readonly outbound: number;
  readonly refused: Readonly<Partial<Record<AdmissionRule, number>>>;
  readonly lastInboundAt: number;
  readonly lastOutboundAt: number;
  /** at most PAIRINGS_PENDING_MAX */
  readonly pairings: readonly Pairing[];
  /** at most APPROVED_SENDERS_MAX */
  readonly approved: readonly Approved[];
};

export type ChannelEvent =
  | Delivered<ChannelConfigure>
  | Delivered<ChannelConnected>
  | Delivered<ChannelPosition>
  | Delivered<ChannelObserved>
  | Delivered<ChannelRestart>
  | Delivered<ChannelPair>
  | Delivered<ChannelApprove>
  | Delivered<ChannelReject>
  | Delivered<ChannelRevoke>;
