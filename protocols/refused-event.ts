/**
 * RefusedEvent: published on `a2a.{domain}.{env}.out.{tenant}` for a refused envelope that came
 * over NATS without a reply subject. With a reply subject, the refusal is the reply.
 */
import { type Static, Type } from '@sinclair/typebox';
import { defined } from './defined.ts';
import { type WireRefusal, WireErrorSchema } from './task.ts';

export const REFUSED_EVENT = 'a2a.refused';

const count = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }));

export const RefusedEventSchema = Type.Object(
  {
    event: Type.Literal(REFUSED_EVENT),
    at: Type.String({ format: 'date-time' }),
    error: WireErrorSchema,
    /** as far as they could be parsed */
    request_id: Type.Optional(Type.String()),
    trace_id: Type.Optional(Type.String()),
    rate_limit: count('envelopes per minute; header `x-ratelimit-limit` of a reply'),
    rate_remaining: count('remaining; header `x-ratelimit-remaining` of a reply'),
    retry_after_sec: Type.Optional(
      Type.Number({ minimum: 0, description: 'minimum delay; header `retry-after` of a reply' }),
    ),
  },
  { additionalProperties: false, $id: 'urn:troupe:refused-event:1.0', title: 'RefusedEvent' },
);
export type RefusedEvent = Static<typeof RefusedEventSchema>;

export const refusedEvent = (
  refusal: WireRefusal,
  { at, rate }: { at: string; rate?: { limit: number; remaining: number } | undefined },
): RefusedEvent => {
  const after = refusal.error.retry_after_sec;
  return {
    event: REFUSED_EVENT,
    at,
    ...refusal,
    ...(rate ? { rate_limit: rate.limit, rate_remaining: rate.remaining } : {}),
    ...defined({ retry_after_sec: after }),
  };
};
