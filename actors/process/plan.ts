/**
 * Plan: the effects that run a process's own functions. Their results are recorded, so a step is
 * requested with the same payload even if the worker changes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalize } from 'json-canonicalize';
import { type CheckError, describeErrors } from '../../protocols/check.ts';
import type { Envelope, Payload } from '../../protocols/envelope.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { payloadHashOf, subjectOf, taskAddress, taskIdOf } from '../../protocols/task.ts';
import type { EffectContext } from '../../runtime/index.ts';
import { termsOf } from '../task/catalog.ts';
import { payloadErrors } from '../task/checkers.ts';
import type { ProcessCatalog } from './catalog.ts';
import type { About, Call, ProcessDefinition, Step } from './define.ts';
import type {
  Concluded,
  ConcludeInput,
  Order,
  Outline,
  Phase,
  Planned,
  PlanInput,
} from './types.ts';

/** The services that the effects of processes use. */
export type SagaServices = { readonly processes: ProcessCatalog };

const processesOf = ({ services }: EffectContext): ProcessCatalog =>
  (services as SagaServices).processes;

/**
 * No entry point checks the requests of a process, so this checks them against the action's schema.
 * @throws TroupeError UNAVAILABLE when no worker has the process; INVALID_ARGUMENT for an invalid
 * payload; what its function throws
 */
export async function plan(input: PlanInput, context: EffectContext): Promise<Planned> {
  const processes = processesOf(context);
  const definition = await find(input.order, context);
  const step = definition.steps[input.at];
  const call = step && callOf(step, input.phase);
  if (!step || !call) throw gone(`step ${input.at} of ${definition.action} has no ${input.phase}`);
  const payload = payloadOf(call, input);
  const action = processes.actionOf(call);
  const errors = payloadErrors(action, payload);
  if (errors.length > 0) throw unfit(call.action, errors);
  const key = [input.processId, step.name, input.phase, ...(input.round ? [input.round] : [])];
  const envelope = envelopeOf(input, call, payload, key.join('.'), context.now());
  const { tenant } = input;
  const taskId = taskIdOf({
    tenant,
    action: call.action,
    subject: subjectOf(envelope),
    key: envelope.idempotency_key,
  });
  return {
    outline: definition.steps.map(outlineOf),
    taskId,
    to: taskAddress(tenant, taskId),
    submit: {
      type: 'task.submit',
      envelope: { ...envelope, request_id: taskId },
      payloadHash: payloadHashOf(canonicalize(payload)),
      terms: termsOf(action, envelope, taskId),
      transport: 'actor',
      answer: 'done',
    },
  };
}

/** @throws what the process's function throws */
export async function conclude(
  { order, results }: ConcludeInput,
  context: EffectContext,
): Promise<Concluded> {
  const { result } = await find(order, context);
  return { result: result ? json(result(order.input, results), 'its result') : results };
}

/**
 * During a rolling deployment a worker of another release stops within this time, and this effect
 * moves to one that has the process.
 */
const UNKNOWN_WAIT_MS = 300_000;

/**
 * During a rollout a worker may not have the process. That is no reason to compensate: the effect
 * waits until its worker stops, and starts again on the next one.
 */
async function find(
  { action, version }: Order,
  context: EffectContext,
): Promise<ProcessDefinition> {
  const found = processesOf(context).find(action, version);
  if (found) return found;
  await sleep(UNKNOWN_WAIT_MS, undefined, { signal: context.signal, ref: false });
  throw new TroupeError(
    'UNAVAILABLE',
    `no process ${action} ${version ?? ''} is registered in this code: start troupe with it`,
  );
}

const callOf = (step: Step<unknown>, phase: Phase): Call<unknown> | undefined =>
  ({
    act: step,
    verify: step.verify,
    undo: step.compensate,
    verifyUndo: step.compensate?.verify,
  })[phase];

const outlineOf = ({ name, verify, compensate }: Step<unknown>): Outline => ({
  name,
  verify: verify !== undefined,
  undo: compensate !== undefined,
  verifyUndo: compensate?.verify !== undefined,
});

function payloadOf(call: Call<unknown>, input: PlanInput): Payload {
  const { processId, order, results, work } = input;
  const about: About = { processId, taskId: '', ...work };
  const fields = call.payload(order.input, results, about);
  return json({ schema_version: '1.0', ...fields }, `the payload of ${call.action}`) as Payload;
}

/** The value after a conversion to JSON and back. @throws TroupeError INVALID_ARGUMENT */
function json(value: unknown, what: string): unknown {
  try {
    return JSON.parse(JSON.stringify(value ?? null));
  } catch (cause) {
    throw new TroupeError('INVALID_ARGUMENT', `${what} is not JSON`, { cause });
  }
}

const DAY_SEC = 86_400;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A step is requested on behalf of the requester of the process, as a part of that request. */
function envelopeOf(
  { processId, tenant, order }: PlanInput,
  { action, version }: Call<unknown>,
  payload: Payload,
  key: string,
  now: number,
): Envelope {
  const parent = UUID.test(processId)
    ? processId
    : taskIdOf({ tenant, action: order.action, subject: '', key: processId });
  return {
    version: '1.0',
    request_id: parent,
    correlation_id: parent,
    causation_id: parent,
    trace_id: order.traceId ?? parent.replaceAll('-', ''),
    tenant_id: tenant,
    principal: order.principal
      ? { sub: order.principal.sub, roles: [...order.principal.roles] }
      : { sub: order.action, roles: ['agent'] },
    timestamp: new Date(now).toISOString(),
    ttl_sec: DAY_SEC,
    idempotency_key: key,
    seq: 1,
    action,
    action_version: version,
    ...(order.locality === undefined ? {} : { data_locality: order.locality }),
    payload,
  };
}

const unfit = (action: string, errors: readonly CheckError[]) =>
  new TroupeError(
    'INVALID_ARGUMENT',
    `the payload that is made for ${action} is not valid: ${describeErrors(errors)}`,
    { details: { errors } },
  );
const gone = (message: string) => new TroupeError('NOT_FOUND', message);
