/**
 * Sends an accepted envelope to the actors and waits for their answer. The sequence actor of
 * (sender, subject, MAJOR) checks the number and forwards the envelope to the task; work without an
 * order goes to the task directly. The task's answer means that it is durable.
 *
 * Only the actors' answer decides about `seq`. A committed row may be newer than the actor's state
 * that a repeat must be compared with.
 */
import { majorOf } from '../../protocols/action.ts';
import type { Address } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import type { Envelope } from '../../protocols/envelope.ts';
import { type ErrorData, TroupeError } from '../../protocols/errors.ts';
import type { Message } from '../../protocols/statechart.ts';
import {
  type SequencePass,
  sequenceAddress,
  subjectOf,
  taskAddress,
  type TaskSubmit,
  type TaskTerms,
  type TaskView,
} from '../../protocols/task.ts';
import type { EdgeRequest } from './edge.ts';
import type { Principal, SendOptions, System } from '../../runtime/index.ts';

/** A durable append and its answer take milliseconds; a failover takes seconds. */
const ACK_WAIT_MS = 10_000;
const RETRY_MS = 1_000;

export type Accepted = {
  readonly request: Pick<EdgeRequest, 'transport' | 'protocol' | 'isUnordered' | 'agentId'>;
  readonly envelope: Envelope;
  readonly taskId: string;
  readonly payloadHash: string;
  readonly terms: TaskTerms;
  readonly principal: Principal;
  /** remaining time to live */
  readonly ttlMs: number;
};

/** The new task, or the task that an earlier copy of the envelope created. @throws TroupeError */
export const append = async (
  system: Pick<System, 'ask'>,
  { envelope, taskId, payloadHash, terms, request, principal, ttlMs }: Accepted,
): Promise<TaskView> => {
  const { tenant_id: tenant, seq, trace_id: traceId, action_version } = envelope;
  const task = taskAddress(tenant, taskId);
  const submit: TaskSubmit = {
    type: 'task.submit',
    envelope,
    payloadHash,
    terms,
    transport: request.transport,
    ...defined({ protocol: request.protocol }),
    answer: 'ack',
    ...defined({ agentId: request.agentId }),
  };
  const options = { principal, traceId, ttlMs, repeatable: true as const };
  const scope = {
    sender: principal.sub,
    subject: subjectOf(envelope),
    major: majorOf(action_version),
  };
  const pass: SequencePass = { type: 'sequence.pass', seq, to: task, submit };
  const view = request.isUnordered
    ? await ask(system, task, submit, options, ACK_WAIT_MS)
    : await ask(system, sequenceAddress(tenant, scope), pass, options, ACK_WAIT_MS);
  if (view !== undefined) return view;
  throw new TroupeError('UNAVAILABLE', `no answer came within ${ACK_WAIT_MS / 1_000} s: ${AGAIN}`, {
    retryAfterMs: RETRY_MS,
    details: { outcome: 'unknown' },
  });
};

const AGAIN = 'send it again with the same idempotency_key';

/**
 * Asks a task or its sequence actor. Returns undefined when the message was accepted and no answer
 * came in time.
 * @throws TroupeError the refusal
 */
export const ask = async (
  system: Pick<System, 'ask'>,
  to: Address,
  event: Message,
  options: SendOptions,
  timeoutMs: number,
): Promise<TaskView | undefined> => {
  const answer = await system.ask(to, event, { ...options, timeoutMs });
  if (answer.kind === 'answered') return answer.result as TaskView;
  if (answer.kind === 'timeout') return undefined;
  throw TroupeError.from(soon(answer.error));
};

/** Adds a retry delay to a temporary failure. */
const soon = (error: ErrorData): ErrorData =>
  error.code === 'UNAVAILABLE' && error.retryAfterMs === undefined
    ? { ...error, message: `${error.message}: ${AGAIN}`, retryAfterMs: RETRY_MS }
    : error;
