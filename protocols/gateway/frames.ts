/**
 * Frames of the gateway: JSON text messages on a WebSocket, in the shapes of OpenClaw protocol v4.
 * The contents of frames are defined in connect.ts, methods.ts and events.ts.
 *
 * A request may receive several responses with its id (`agent`: accepted, then final). Responses to
 * different requests may arrive in any order.
 */
import { type Static, Type } from '@sinclair/typebox';
import { checker } from '../check.ts';
import { ERRORS, type ErrorData } from '../errors.ts';
import { closed, Count, NonEmpty, Optional } from './shapes.ts';

export const PROTOCOL_VERSION = 4;
/** Nodes and probes may still use this version. */
export const PROTOCOL_VERSION_NODE_MIN = 3;

/** Maximum size of a frame before `hello-ok`. */
export const HANDSHAKE_FRAME_BYTES_MAX = 65_536;
/** Time limit for the handshake; then the gateway closes the connection. */
export const HANDSHAKE_TIMEOUT_MS = 15_000;
/** Maximum size of a frame after `hello-ok`; sent to the client as `policy.maxPayload`. */
export const FRAME_BYTES_MAX = 26_214_400;
/** A client with more unsent bytes is disconnected; sent to it as `policy.maxBufferedBytes`. */
export const BUFFERED_BYTES_MAX = 52_428_800;
/** Interval of `tick`; a client that receives nothing for two intervals closes the connection. */
export const TICK_INTERVAL_MS = 30_000;

/** Extra fields of newer clients beside `params` are ignored. */
export const RequestFrame = Type.Object({
  type: Type.Literal('req'),
  id: NonEmpty,
  method: NonEmpty,
  params: Optional(Type.Unknown()),
  traceparent: Optional(Type.String({ maxLength: 128 })),
});
export type RequestFrame = Static<typeof RequestFrame>;

export const GatewayErrorShape = Type.Object(
  {
    code: NonEmpty,
    message: NonEmpty,
    details: Optional(Type.Unknown()),
    retryable: Optional(Type.Boolean()),
    retryAfterMs: Optional(Count),
  },
  closed,
);
export type GatewayErrorShape = Static<typeof GatewayErrorShape>;

export const ResponseFrame = Type.Object(
  {
    type: Type.Literal('res'),
    id: NonEmpty,
    ok: Type.Boolean(),
    payload: Optional(Type.Unknown()),
    error: Optional(GatewayErrorShape),
  },
  closed,
);
export type ResponseFrame = Static<typeof ResponseFrame>;

/**
 * Each number increases with every change of its part. A client drops snapshots older than its own.
 */
export const StateVersion = Type.Object({ presence: Count, health: Count }, closed);
export type StateVersion = Static<typeof StateVersion>;

export const EventFrame = Type.Object(
  {
    type: Type.Literal('event'),
    event: NonEmpty,
    payload: Optional(Type.Unknown()),
    /** per connection, without gaps; after a gap the client reads its state again */
    seq: Optional(Count),
    stateVersion: Optional(StateVersion),
  },
  closed,
);
export type EventFrame = Static<typeof EventFrame>;

export const checkRequestFrame = checker(RequestFrame, { secret: /^\/params/ });

export const eventFrame = (
  event: string,
  payload: unknown,
  place: { seq?: number; stateVersion?: StateVersion } = {},
): EventFrame => ({
  type: 'event',
  event,
  payload,
  ...(place.seq === undefined ? {} : { seq: place.seq }),
  ...(place.stateVersion === undefined ? {} : { stateVersion: place.stateVersion }),
});

/**
 * A troupe error in OpenClaw's shape. The troupe code is in `details.reason`, the field of
 * OpenClaw's own reasons.
 */
export const gatewayError = ({
  code,
  message,
  details,
  retryAfterMs,
}: ErrorData): GatewayErrorShape => ({
  code: ERRORS[code].gateway,
  message: message === '' ? code : message,
  details: { reason: code, ...details },
  retryable: ERRORS[code].retriable,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs: Math.max(0, Math.ceil(retryAfterMs)) }),
});
