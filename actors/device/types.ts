/** Types: the context and the messages of a device actor. */
import type {
  DeviceAck,
  DeviceApprove,
  DeviceAsk,
  DeviceDrain,
  DeviceEnqueue,
  DeviceFace,
  DeviceGrant,
  DeviceInvoke,
  DeviceOffline,
  DeviceOnline,
  DeviceReject,
  DeviceRemove,
  DeviceRename,
  DeviceResult,
  DeviceRevoke,
  DeviceRole,
  DeviceTaken,
  DeviceToken,
  NodeState,
  NodeSurface,
  PairingRequest,
  Payload,
  SurfaceApprove,
  SurfaceReject,
  WaitingItem,
} from '../../protocols/device.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { Delivered, ReplyRef } from '../../protocols/statechart.ts';

export type DeviceContext = {
  readonly deviceId: string;
  readonly tenant: string;
  readonly createdAt: number;
  /** '' before its first request */
  readonly publicKey: string;
  readonly face: DeviceFace;
  /** the display name that a user set */
  readonly name: string | null;
  readonly roles: { readonly [R in DeviceRole]?: DeviceGrant };
  /** the oldest first, at most one for each role */
  readonly requests: readonly PairingRequest[];
  /** time of its last request, or when a request ended */
  readonly askedAt: number;
  /** null: it was never connected as a node */
  readonly node: NodeFacts | null;
  /** invocations that wait for an answer, the oldest first */
  readonly invocations: readonly Invocation[];
  /** ended invocations, the oldest first */
  readonly ended: readonly Ended[];
  readonly waiting: readonly WaitingItem[];
};

export type NodeFacts = {
  readonly surface: NodeSurface;
  readonly approved: readonly string[];
  readonly approvedAt: number | null;
  readonly request: NonNullable<NodeState['request']> | null;
  readonly link: NonNullable<NodeState['link']> | null;
  /** of its last connection: the node answers a repeated command from its record */
  readonly replays: boolean;
  readonly lastSeenAt: number;
};

/** One command that has not ended. */
export type Invocation = {
  readonly id: string;
  readonly command: string;
  /** '' once it cannot be sent again */
  readonly paramsJson: string;
  readonly digest: string;
  readonly sessionKey?: string;
  readonly deadline: number;
  /** callers that wait for the answer */
  readonly askers: readonly ReplyRef[];
  /**
   * the connection of its last publication; null when that has ended, so that the next connection
   * receives the command
   */
  readonly connId: string | null;
  /** number of publications to that connection, and the time of the last */
  readonly tellings: number;
  readonly toldAt: number;
  /** the gateway of that connection has accepted it */
  readonly taken: boolean;
  /** a gateway has accepted it, so the node may have executed it */
  readonly touched: boolean;
};

/** An ended command. It is kept only if the node answered it or may have executed it. */
export type Ended = {
  readonly id: string;
  readonly digest: string;
  readonly endedAt: number;
  /** the node answered; otherwise `error` says why the outcome is unknown */
  readonly answered: boolean;
  readonly payload?: Payload | null;
  readonly error?: ErrorData;
};

export type DeviceEvent =
  | Delivered<DeviceAsk>
  | Delivered<DeviceApprove>
  | Delivered<DeviceReject>
  | Delivered<DeviceRemove>
  | Delivered<DeviceRename>
  | Delivered<DeviceToken>
  | Delivered<DeviceRevoke>
  | Delivered<DeviceOnline>
  | Delivered<DeviceOffline>
  | Delivered<SurfaceApprove>
  | Delivered<SurfaceReject>
  | Delivered<DeviceInvoke>
  | Delivered<DeviceTaken>
  | Delivered<DeviceResult>
  | Delivered<DeviceEnqueue>
  | Delivered<DeviceDrain>
  | Delivered<DeviceAck>;
export type DeviceEventOf<T extends DeviceEvent['type']> = Extract<DeviceEvent, { type: T }>;
