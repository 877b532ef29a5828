/**
 * compensate: undoes what a task's work did, or may have done. It may run again: its key is
 * `{idempotencyKey}.undo` for all attempts.
 */
import { TroupeError } from '../../../protocols/errors.ts';
import { subjectOf } from '../../../protocols/task.ts';
import type { EffectContext, EffectDefinition } from '../../../runtime/index.ts';
import type { CompensateInput } from '../types.ts';
import { muted } from './muted.ts';
import {
  actionContext,
  definitionOf,
  labelsOf,
  opened,
  placement,
  servicesOf,
} from './action-context.ts';

export const compensate: EffectDefinition<CompensateInput, null> = {
  class: 'keyed',
  placement,
  async run(input, context) {
    if (input.errorCode) servicesOf(context).count('retry', labelsOf(input, input.errorCode));
    await (input.terms.performer.kind === 'remote' ? undoOutside : undo)(input, context);
    return null;
  },
};

async function undo(input: CompensateInput, context: EffectContext): Promise<void> {
  const services = servicesOf(context);
  const { action, compensate: run } = definitionOf(input, services);
  if (!run) throw new TroupeError('CONFLICT', `${action} has no compensation any more`);
  const envelope = await opened(input, services);
  const key = `${input.idempotencyKey}.undo`;
  const about = actionContext({ ...input, idempotencyKey: key }, envelope, context);
  await muted(input, context.signal, async () =>
    run(envelope.payload, about, input.returned?.value),
  );
}

/**
 * External agents undo their work themselves when they receive a cancellation: all that may have
 * had an attempt, at the URL of that attempt, whatever the registry says by now. An agent that
 * never started has nothing to undo; an unreachable one leaves the decision to an operator.
 */
async function undoOutside(input: CompensateInput, context: EffectContext): Promise<void> {
  const { agents, envelope, idempotencyKey } = input;
  const subject = subjectOf(envelope);
  const cancel = {
    ...envelope,
    action: `${envelope.action}.cancel`,
    idempotency_key: `${idempotencyKey}.undo`,
    causation_id: envelope.request_id,
    payload: {
      schema_version: '1.0',
      idempotency_key: idempotencyKey,
      ...(subject === '' ? {} : { subject }),
    },
  };
  const { askAgent } = servicesOf(context);
  await Promise.all(agents.map((agent) => askAgent(agent, cancel, context.signal)));
}
