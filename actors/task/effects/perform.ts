/**
 * perform, performOnce: one attempt of a task's work: a function of this code, or an external
 * agent. The task retries errors according to their codes; permanent failures return as an Outcome.
 */
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import { ETA_SEC_MAX } from '../../../protocols/task.ts';
import type { EffectContext, EffectDefinition } from '../../../runtime/index.ts';
import { type ActionDefinition, withLinks } from '../action.ts';
import type { Outcome, PerformInput } from '../types.ts';
import {
  actionContext,
  definitionOf,
  labelsOf,
  opened,
  placement,
  servicesFor,
  servicesOf,
} from './action-context.ts';
import { muted } from './muted.ts';
import { outcomeOf } from './work-outcome.ts';

/** The task's own time is shorter, and is what counts. */
const TIMEOUT_MS = ETA_SEC_MAX * 1_000;

/** Work that may run again under one idempotency key. */
export const perform: EffectDefinition<PerformInput, Outcome> = {
  class: 'keyed',
  placement,
  timeoutMs: TIMEOUT_MS,
  run: (input, context) => attempt(input, context, work),
};

/**
 * Work that never runs twice silently: the action's `reconcile` determines the outcome of a lost
 * attempt; if it cannot, an operator does.
 */
export const performOnce: EffectDefinition<PerformInput, Outcome> = {
  class: 'once',
  placement,
  timeoutMs: TIMEOUT_MS,
  run: (input, context) => attempt(input, context, workOnce),
  async reconcile(input, context) {
    const why = `the worker that did ${input.envelope.action} was lost`;
    const outcome = await reconciled(input, context, why);
    return outcome === 'again' ? 'again' : { outcome };
  },
};

async function attempt(
  input: PerformInput,
  context: EffectContext,
  run: typeof work,
): Promise<Outcome> {
  if (isTooLate(input, context)) return { kind: 'expired' };
  const { count } = servicesOf(context);
  if (input.errorCode) count('retry', labelsOf(input, input.errorCode));
  return run(input, context);
}

/** Effects wait their turn: the work may have come too late since the task was accepted. */
const isTooLate = (
  { attempt: n, inputs, expiresAt }: PerformInput,
  context: EffectContext,
): boolean => n === 1 && context.attempt === 1 && inputs.length === 0 && context.now() > expiresAt;

async function work(input: PerformInput, context: EffectContext): Promise<Outcome> {
  const services = servicesFor(input, context);
  if (input.terms.performer.kind === 'remote') {
    const value = await askAgent(input, context);
    return outcomeOf({ ...input, value }, undefined, services);
  }
  const definition = definitionOf(input, services);
  const envelope = await opened(input, services);
  const run = performOf(definition);
  const value = await muted(input, context.signal, () =>
    run(envelope.payload, actionContext(input, envelope, context)),
  );
  return outcomeOf({ ...input, value }, definition, services);
}

/**
 * A TroupeError means that the work was not done, and its code whether to retry. After any other
 * error the outcome is unknown.
 */
async function workOnce(input: PerformInput, context: EffectContext): Promise<Outcome> {
  try {
    return await work(input, context);
  } catch (error) {
    if (error instanceof TroupeError || context.signal.aborted) throw error;
    const why = `${input.envelope.action} failed in an unknown state: ${errorData(error).message}`;
    const outcome = await reconciled(input, context, why);
    if (outcome !== 'again') return outcome;
    throw new TroupeError('UNAVAILABLE', `${why}; it was not done`, { cause: error });
  }
}

/** What the action's reconcile hook reports about an attempt with an unknown outcome. */
async function reconciled(
  input: PerformInput,
  context: EffectContext,
  why: string,
): Promise<Outcome | 'again'> {
  const services = servicesFor(input, context);
  try {
    const definition = definitionOf(input, services);
    if (!definition.reconcile) return { kind: 'lost', why };
    const envelope = await opened(input, services);
    const { reconcile } = definition;
    const found = await muted(input, context.signal, () =>
      reconcile(envelope.payload, actionContext(input, envelope, context)),
    );
    if (found === 'again') return 'again';
    if (found === 'ask') return { kind: 'lost', why };
    return await outcomeOf({ ...input, value: found.result }, definition, services);
  } catch (error) {
    if (context.signal.aborted) throw error;
    return { kind: 'lost', why: `${why}, and the request for its outcome failed` };
  }
}

function performOf({ action, perform: run }: ActionDefinition) {
  if (run) return run;
  throw new TroupeError('CONFLICT', `${action} is done by an actor now: submit it again`);
}

async function askAgent(input: PerformInput, context: EffectContext): Promise<unknown> {
  const { agent } = input;
  if (!agent) throw new TroupeError('UNAVAILABLE', 'no agent outside was chosen for this attempt');
  const envelope = { ...input.envelope, idempotency_key: input.idempotencyKey };
  const answer = await servicesOf(context).askAgent(agent, envelope, context.signal);
  if (!answer.resource_links) return answer.result;
  const links = answer.resource_links as { uri: string; name?: string }[];
  return withLinks(answer.result, links);
}
