/**
 * Spans: what the program reports to an OpenTelemetry tracer; every name and attribute is in this
 * one file. Only the API is used: without a registered SDK there are no spans.
 *  - `a2a.submit {action}`: one envelope at an Edge, child of the caller's span
 *  - `turn {actor type}.{event}`: one turn with a known trace, until its record counts. A sampler
 *    decides which are recorded; each costs a few microseconds
 *  - `effect {actor type}.{effect}`: one attempt of work outside a turn
 *  - `chat {model}`, `execute_tool {tool}`: calls of models and tools, as the semantic conventions
 *    for generative AI name them (v1.37 and later)
 *
 * The trace id crosses mailboxes and restarts, a span does not: work that an envelope caused is in
 * its trace, next to the Edge's span and not below it. Its parent is a span id derived from the
 * trace id, which is never recorded.
 *
 * Invariant: no span contains a payload, a prompt, a token or an error's text; errors are reported
 * by code.
 */
import {
  type Attributes,
  type Context,
  context,
  createTraceState,
  INVALID_SPAN_CONTEXT,
  isSpanContextValid,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { type ErrorCode, errorData } from '../../protocols/errors.ts';
import { parseTraceparent, type TraceContext } from '../../protocols/trace.ts';

export type SpanSpec = {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
};

/** Of one envelope, when it has been answered. */
export type ServedEnvelope = {
  readonly transport: string;
  readonly action?: string | undefined;
  readonly tenant?: string | undefined;
  readonly taskId?: string | undefined;
  readonly requestId?: string | undefined;
  /** of the envelope; without one that could be read the caller's, or a new one */
  readonly traceId?: string | undefined;
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  /** epoch milliseconds */
  readonly begunAt: number;
  readonly endedAt: number;
  /** state of the task in the answer, or `REFUSED` */
  readonly status: string;
  readonly error?: ErrorCode | undefined;
};

const NAME = 'troupe';
const tracer = (): Tracer => trace.getTracer(NAME);
const UNRECORDED = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

/** Whether a tracer is registered: creating a span costs several microseconds even without one. */
export const isTraced = (): boolean => {
  const provider = trace.getTracerProvider();
  if (!(provider instanceof ProxyTracerProvider)) return true;
  return provider.getDelegateTracer(NAME) !== undefined;
};

/**
 * Reports an answered envelope to the tracer, afterwards and with its times, because the envelope,
 * which is read on the way, contains its trace.
 */
export function recordServed(served: ServedEnvelope): void {
  if (!isTraced()) return;
  const { action, traceId, traceparent, tracestate, begunAt, endedAt, status, error } = served;
  const caller = parseTraceparent(traceparent, tracestate);
  const isSame = traceId === undefined || caller?.traceId === traceId;
  const parent = (isSame ? caller : undefined) ?? (traceId ? inTrace(traceId) : undefined);
  const span = tracer().startSpan(
    action === undefined ? 'a2a.submit' : `a2a.submit ${action}`,
    {
      kind: SpanKind.SERVER,
      startTime: begunAt,
      attributes: submitAttributes(served),
      // a caller that traces under another id than the one it wrote down
      ...(caller && !isSame ? { links: [{ context: spanContextOf(caller) }] } : {}),
    },
    parent ? remote(parent) : ROOT_CONTEXT,
  );
  if (status === 'REFUSED') span.setStatus({ code: SpanStatusCode.ERROR });
  if (error) span.setAttribute('error.type', error);
  span.end(endedAt);
}

const submitAttributes = (served: ServedEnvelope): Attributes => ({
  'troupe.transport': served.transport,
  'troupe.status': served.status,
  ...(served.action === undefined ? {} : { 'troupe.action': served.action }),
  ...(served.tenant === undefined ? {} : { 'troupe.tenant': served.tenant }),
  ...(served.taskId === undefined ? {} : { 'troupe.task_id': served.taskId }),
  ...(served.requestId === undefined ? {} : { 'troupe.request_id': served.requestId }),
});

/** One attempt of an effect. */
export const effectSpan = (effect: {
  readonly actor: string;
  readonly src: string;
  readonly attempt: number;
  /** idempotency key: the same for all attempts */
  readonly id: string;
}): SpanSpec => ({
  name: `effect ${effect.actor.split('/', 2)[1] ?? ''}.${effect.src}`,
  kind: SpanKind.INTERNAL,
  attributes: {
    'troupe.actor': effect.actor,
    'troupe.effect': effect.src,
    'troupe.attempt': effect.attempt,
    'troupe.effect_id': effect.id,
  },
});

/** The facts of a turn that has run and is not committed yet. */
export type TracedTurn = {
  readonly actor: string;
  readonly event: string;
  /** how the input ended, as `applied` */
  readonly result: string;
  readonly turn: number;
  readonly traceId: string;
  /** epoch milliseconds, with fractions */
  readonly begunAt: number;
};

/**
 * Begins the span of a turn that has run; undefined if it is not sampled. Call `end` when the
 * record counts; the span of a turn that never counts is not recorded.
 */
export function turnSpan(made: TracedTurn): Span | undefined {
  const { actor, event, result, turn, traceId, begunAt } = made;
  const span = tracer().startSpan(
    `turn ${actor.split('/', 2)[1] ?? ''}.${event}`,
    {
      kind: SpanKind.INTERNAL,
      startTime: begunAt,
      attributes: {
        'troupe.actor': actor,
        'troupe.event': event,
        'troupe.result': result,
        'troupe.turn': turn,
      },
    },
    parentOf(traceId),
  );
  if (!span.isRecording()) return undefined;
  if (result === 'crashed') span.setStatus({ code: SpanStatusCode.ERROR });
  return span;
}

/** The ids of the active span, as fields of a log line; {} without one. */
export const traceFields = (): { trace_id?: string; span_id?: string } => {
  const active = trace.getActiveSpan()?.spanContext();
  return active && isSpanContextValid(active)
    ? { trace_id: active.traceId, span_id: active.spanId }
    : {};
};

/** A call of a language model. @param call.provider as configured, as `anthropic` */
export const chatSpan = (call: {
  readonly provider: string;
  readonly model: string;
}): SpanSpec => ({
  name: `chat ${call.model}`,
  kind: SpanKind.CLIENT,
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': call.provider,
    'gen_ai.request.model': call.model,
  },
});

export const usageAttributes = (usage: {
  readonly inputTokens: number;
  readonly outputTokens: number;
}): Attributes => ({
  'gen_ai.usage.input_tokens': usage.inputTokens,
  'gen_ai.usage.output_tokens': usage.outputTokens,
});

/** A call of a tool by a model. */
export const toolSpan = (call: { readonly name: string; readonly id: string }): SpanSpec => ({
  name: `execute_tool ${call.name}`,
  kind: SpanKind.INTERNAL,
  attributes: {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': call.name,
    'gen_ai.tool.call.id': call.id,
  },
});

/**
 * Runs the work inside a span, which is active for everything the work does (where the SDK follows
 * contexts). The span ends with the work; errors are reported by code and thrown on.
 * @param spec called only if a tracer is registered
 * @param parent the same; default the active span
 */
export function inSpan<T>(
  spec: () => SpanSpec,
  work: (span: Span) => Promise<T>,
  parent: () => Context = () => context.active(),
): Promise<T> {
  if (!isTraced()) return work(UNRECORDED);
  const { name, kind, attributes } = spec();
  return tracer().startActiveSpan(name, { kind, attributes }, parent(), async (span) => {
    try {
      return await work(span);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttribute('error.type', errorData(error).code);
      throw error;
    } finally {
      span.end();
    }
  });
}

/** Where work belongs that came by a mailbox: in its trace, else in one of its own. */
export const parentOf = (traceId: string | undefined): Context =>
  traceId === undefined ? ROOT_CONTEXT : remote(inTrace(traceId));

/** The span that is never recorded: the same one for every trace of which only the id is known. */
const inTrace = (traceId: string): TraceContext => {
  const low = traceId.slice(16);
  const spanId = /^0+$/.test(low) ? traceId.slice(0, 16) : low;
  return { traceId, spanId, sampled: true };
};

const remote = (parent: TraceContext): Context =>
  trace.setSpanContext(ROOT_CONTEXT, spanContextOf(parent));

const spanContextOf = ({ traceId, spanId, sampled, tracestate }: TraceContext) => ({
  traceId,
  spanId,
  traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
  isRemote: true,
  ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
});
