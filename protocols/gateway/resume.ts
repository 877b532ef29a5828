/**
 * `events.resume` (extension): a client that lost its connection and reconnected to the same
 * gateway requests the events that it missed.
 */
import { type Static, Type } from '@sinclair/typebox';
import type { MethodArea } from './method.ts';
import { closed, Count, NonEmpty, oneOf, Optional } from './shapes.ts';

export const EventsResumeParams = Type.Object(
  {
    /** `server.connId` and `server.bootId` from the hello of the lost connection */
    connId: NonEmpty,
    bootId: Optional(NonEmpty),
    /** of the last event received there; 0: none */
    seq: Count,
  },
  closed,
);
export type EventsResumeParams = Static<typeof EventsResumeParams>;

/**
 * `resumed`: `frames` events follow this response. They are the events `from` to `to` of the lost
 * connection, in order, without those that this connection has already received. A client must hold
 * events that arrive between its hello and this response until it has processed them.
 *
 * Otherwise `reason` says why events are missing: another gateway had the lost connection, its
 * buffer expired or overflowed, or it never had that number. The client then reads its state again.
 */
export const EventsResumeResult = Type.Union([
  Type.Object({ resumed: Type.Literal(true), from: Count, to: Count, frames: Count }, closed),
  Type.Object(
    { resumed: Type.Literal(false), reason: oneOf(['another-gateway', 'too-old', 'gap']) },
    closed,
  ),
]);
export type EventsResumeResult = Static<typeof EventsResumeResult>;

export const resumeMethods = {
  'events.resume': {
    params: EventsResumeParams,
    result: EventsResumeResult,
    scope: 'operator.read',
  },
} as const satisfies MethodArea;
