/**
 * Trace context (W3C Trace Context, level 2): parses and formats `traceparent`, limits `tracestate`
 * and forwards it unchanged. Pure; runtime/observe creates the spans.
 */

export type TraceContext = {
  /** 32 hex digits, not all zero */
  readonly traceId: string;
  /** 16 hex digits, not all zero: the caller's span */
  readonly spanId: string;
  /** whether the caller records its spans */
  readonly sampled: boolean;
  /** vendor-specific, opaque */
  readonly tracestate?: string;
};

const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/**
 * Implementations must forward at least this much (3.3.1.5); a longer value is dropped completely,
 * never truncated.
 */
const TRACESTATE_CHARACTERS_MAX = 512;
const TRACESTATE_MEMBERS_MAX = 32;
const SAMPLED = 1;

/**
 * Undefined for an invalid trace context: the specification requires ignoring it. A later version
 * may have more fields after the flags (2.2.5); version 00 may not.
 */
export const parseTraceparent = (
  traceparent: string | undefined,
  tracestate?: string,
): TraceContext | undefined => {
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return {
    traceId,
    spanId,
    sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED,
    ...(isPassable(tracestate) ? { tracestate } : {}),
  };
};

/** Always version 00. */
export const formatTraceparent = ({ traceId, spanId, sampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;

const isPassable = (tracestate: string | undefined): tracestate is string =>
  tracestate !== undefined &&
  tracestate !== '' &&
  tracestate.length <= TRACESTATE_CHARACTERS_MAX &&
  tracestate.split(',').length <= TRACESTATE_MEMBERS_MAX &&
  /^[ -~]+$/.test(tracestate);
