/**
 * `events.resume` (ours): a client that lost its connection and came back to the same gateway asks
 * for the events that it missed.
 */
import { type Static, Type } from '@sinclair/typebox';
import type { MethodArea } from './method.ts';
import { closed, Count, NonEmpty, oneOf, Optional } from './shapes.ts';

export const EventsResumeParams = Type.Object(
  {
    /** `server.connId` and `server.bootId` of the hello of the connection that was lost */
    connId: NonEmpty,
    bootId: Optional(NonEmpty),
    /** of the last event that came there; 0: none did */
    seq: Count,
  },
  closed,
);
export type EventsResumeParams = Static<typeof EventsResumeParams>;

/**
 * `resumed`: the events that follow this answer, `frames` of them, are those that had the numbers
 * from `from` to `to` on the lost connection, in their order, less those that came since the new
 * one's hello. Those belong behind them: a client keeps what comes between its hello and this
 * answer until it has them. Else `reason` says why there is a gap: the lost connection was another
 * gateway's, is too long ago or had too much to tell, or never had that number; then the client
 * reads everything again.
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
