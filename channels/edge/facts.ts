/** Facts: the outcome of one envelope at the Edge, for metrics, traces and logs. */
import type { Envelope } from '../../protocols/envelope.ts';
import type { ErrorCode } from '../../protocols/errors.ts';
import type { TaskState } from '../../protocols/task.ts';
import type { Caller, EdgeAnswer, EdgeRequest, QuotaAnswer } from './edge.ts';

/** The outcome of one envelope, for metrics and logs. */
export type EdgeFacts = {
  /** an action that is or was offered; undefined for other names */
  readonly action: string | undefined;
  readonly tenant: string | undefined;
  readonly principal: string | undefined;
  readonly status: TaskState | 'REFUSED';
  readonly errorCode: ErrorCode | undefined;
  /** refused because its `seq` was not above the last one of its sender and subject */
  readonly seqRefused: boolean;
  /** time from its last byte to its answer; a synchronous answer includes the work */
  readonly latencyMs: number;
  /** time until it was durable; undefined for a repeat and for a refusal */
  readonly ackMs: number | undefined;
  /** used share of the nearest quota, 0 to 1 */
  readonly quotaUsed: number | undefined;
  readonly requestId: string | undefined;
  readonly taskId: string | undefined;
  readonly traceId: string | undefined;
  /** W3C trace context, from the envelope's metadata */
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  readonly transport: EdgeRequest['transport'];
};

/** The facts of an envelope that are known before its outcome. */
export type Seen = {
  requestId?: string;
  traceId?: string;
  envelope?: Envelope;
  caller?: Caller;
  /** its action is or was offered */
  isServed?: true;
  rate?: QuotaAnswer;
  ackMs?: number;
};

export const rateOf = ({ rate }: Seen): Pick<EdgeAnswer, 'rate'> =>
  rate === undefined ? {} : { rate: { limit: rate.limit, remaining: rate.remaining } };

/** The facts of an envelope, after `latencyMs`. */
export const factsOf = (
  { transport, traceparent, tracestate }: EdgeRequest,
  { envelope, caller, isServed, rate, ackMs, requestId, traceId }: Seen,
  answer: EdgeAnswer,
  latencyMs: number,
): EdgeFacts => ({
  action: isServed && envelope?.action,
  tenant: caller?.tenant,
  principal: caller?.sub,
  status: answer.kind === 'task' ? answer.view.state : 'REFUSED',
  errorCode: answer.kind === 'task' ? answer.view.error?.code : answer.error.code,
  seqRefused: answer.kind === 'refused' && answer.error.details?.['last_seq'] !== undefined,
  latencyMs,
  ackMs,
  quotaUsed: rate && 1 - rate.remaining / rate.limit,
  requestId,
  taskId: answer.kind === 'task' ? answer.view.task_id : undefined,
  traceId,
  traceparent,
  tracestate,
  transport,
});
