/**
 * Envelopes of the strict protocol: `POST /v1/envelopes`, which answers with the result of a task
 * that ends within 2 s; a longer task is read again until its end.
 * Success: the task ended with SUCCEEDED. Each envelope is a subject of its own, so none waits for
 * the order of another.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isErrorData, TroupeError } from '../../protocols/errors.ts';
import { isFinal, type TaskState } from '../../protocols/task.ts';
import { bodyOf, type Target } from '../target.ts';
import { type Principal, principalOf } from './program-token.ts';
import type { Workload, WorkloadOptions } from './workload.ts';

const LOOK_MS = 100;
const TTL_SEC = 300;

type Task = { readonly task_id: string; readonly state: TaskState; readonly error?: unknown };

export const envelopes: Workload = {
  summary: 'envelopes over HTTP, until the result of the task (SUCCEEDED)',
  usesModel: false,
  open(target, options) {
    const { bearer } = target;
    if (bearer === undefined)
      throw new TroupeError(
        'INVALID_ARGUMENT',
        'envelopes need the token of a program: --bearer, as `troupe token --sub bench --tenant conformance --roles agent` prints it',
      );
    const principal = principalOf(bearer);
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
    return {
      async send({ signal, sent }) {
        const body = JSON.stringify(envelopeOf(principal, options));
        const path = '/v1/envelopes';
        const answer = await target.http({ method: 'POST', path, headers, body, signal, sent });
        let task = bodyOf<Task>(answer);
        while (!isFinal(task.state)) {
          await sleep(LOOK_MS, undefined, { signal });
          task = await taskOf(target, task.task_id, headers, signal);
        }
        if (task.state !== 'SUCCEEDED') throw failureOf(task);
      },
    };
  },
};

const taskOf = async (
  target: Target,
  id: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Task> =>
  bodyOf<Task>(await target.http({ method: 'GET', path: `/v1/tasks/${id}`, headers, signal }));

const failureOf = ({ state, error }: Task): TroupeError =>
  isErrorData(error)
    ? TroupeError.from(error)
    : new TroupeError('INTERNAL', `the task ended as ${state}`);

/** A call of its own. @param key the idempotency key; default a new one */
export const envelopeOf = (
  { tenant, sub, roles }: Principal,
  { action, payload }: Pick<WorkloadOptions, 'action' | 'payload'>,
  key: string = randomUUID(),
) => ({
  version: '1.0',
  request_id: randomUUID(),
  correlation_id: randomUUID(),
  causation_id: null,
  trace_id: randomUUID().replaceAll('-', ''),
  tenant_id: tenant,
  principal: { sub, roles },
  timestamp: new Date().toISOString(),
  ttl_sec: TTL_SEC,
  idempotency_key: key,
  seq: Date.now(),
  action,
  action_version: '1.0.0',
  payload: { schema_version: '1.0', subject: `bench-${randomUUID()}`, ...payload },
});
