/**
 * Trace context (W3C Trace Context, level 2): `traceparent`, read and written; `tracestate`,
 * bounded and passed on as it is. Pure text: what makes spans of it is runtime/observe.
 */

export type TraceContext = {
  /** 32 hex digits, not all zero */
  readonly traceId: string;
  /** 16 hex digits, not all zero: the span of whoever called */
  readonly spanId: string;
  /** whether the caller records its spans */
  readonly sampled: boolean;
  /** of vendors, opaque */
  readonly tracestate?: string;
};

const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** What everybody has to pass on (3.3.1.5); a longer one is left out whole, never cut. */
const TRACESTATE_CHARACTERS_MAX = 512;
const TRACESTATE_MEMBERS_MAX = 32;
const SAMPLED = 1;

/**
 * Undefined for what is no trace context: the specification has it ignored, never refused. A later
 * version may hold more after the flags (2.2.5); version 00 may not.
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
