/**
 * Submits a call of an action that has no sequence number of its own, as MCP and A2A clients make
 * it: the number is the time, and rises above that of concurrent calls for the same subject.
 */
import { randomUUID } from 'node:crypto';
import { defined } from '../../protocols/defined.ts';
import type { Envelope } from '../../protocols/envelope.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { CallHead } from '../../protocols/models/function-call.ts';
import { subjectOf, type TaskProtocol, type TaskView } from '../../protocols/task.ts';
import { parseTraceparent } from '../../protocols/trace.ts';
import type { Caller, Credentials, Edge, EdgeRequest, Until } from './edge.ts';

const TTL_SEC = 300;
/** How often a call for one subject tries to get a number above that of concurrent calls. */
const SEQ_ATTEMPTS_MAX = 5;

export type Call = {
  readonly protocol: TaskProtocol;
  readonly caller: Pick<Caller, 'tenant' | 'sub' | 'roles'>;
  readonly credentials: Credentials;
  /** idempotency key: a repeat finds the same task */
  readonly key: string;
  /** as in `EdgeRequest` */
  readonly isNewKey?: true | undefined;
  readonly contextId: string;
  /** W3C trace context */
  readonly trace: Pick<EdgeRequest, 'traceparent' | 'tracestate'>;
  /** waits until the task has ended or waits; default: returns it at once */
  readonly until?: Until | undefined;
  /** no other work of the caller has this context */
  readonly isOwnContext?: boolean;
  /** the agent whose A2A address received it */
  readonly agentId?: string;
  /** the envelope with this head */
  readonly envelope: (head: CallHead) => Envelope;
};

/** The task of the call, durable. @throws TroupeError the refusal */
export async function submitCall(edge: Pick<Edge, 'submit'>, call: Call): Promise<TaskView> {
  for (let attempt = 1, seq = Date.now(); ; attempt++) {
    const envelope = call.envelope(headOf(call, seq));
    const isUnordered = call.isOwnContext === true && subjectOf(envelope) === call.contextId;
    const answer = await edge.submit({
      ...call.credentials,
      transport: 'http',
      protocol: call.protocol,
      bytes: Buffer.from(JSON.stringify(envelope)),
      ...(call.until ? { until: call.until } : { waitMs: 0 }),
      ...(isUnordered ? { isUnordered } : {}),
      ...defined({ agentId: call.agentId, isNewKey: call.isNewKey }),
      ...call.trace,
    });
    if (answer.kind === 'task') return answer.view;
    const last = Number(answer.error.details?.['last_seq']);
    if (!Number.isSafeInteger(last) || attempt === SEQ_ATTEMPTS_MAX)
      throw TroupeError.from(answer.error);
    seq = Math.max(last + 1, Date.now());
  }
}

const headOf = ({ caller, key, contextId, trace }: Call, seq: number): CallHead => ({
  request_id: randomUUID(),
  correlation_id: randomUUID(),
  causation_id: null,
  trace_id: parseTraceparent(trace.traceparent)?.traceId ?? randomUUID().replaceAll('-', ''),
  tenant_id: caller.tenant,
  principal: { sub: caller.sub, roles: [...caller.roles] },
  timestamp: new Date().toISOString(),
  ttl_sec: TTL_SEC,
  idempotency_key: key,
  seq,
  context_id: contextId,
});
