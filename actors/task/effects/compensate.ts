/**
 * compensate: undoes what a task's work did, or may have done (EN8). It may run again: its key is
 * `{idempotencyKey}.undo` for all attempts.
 */
import type { AgentRow } from '../../../protocols/action.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { EffectContext, EffectDefinition } from '../../../runtime/index.ts';
import type { CompensateInput } from '../types.ts';
import { actionContext, definitionOf, labelsOf, opened, servicesOf } from './action-context.ts';
import { agentFor } from './agents.ts';

export const compensate: EffectDefinition<CompensateInput, null> = {
  class: 'keyed',
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
  await run(envelope.payload, about, input.returned?.value);
}

/**
 * Agents outside undo their work themselves when they are asked to cancel it: all that may have
 * had an attempt. One that never began has nothing to undo.
 */
async function undoOutside(input: CompensateInput, context: EffectContext): Promise<void> {
  const { envelope, idempotencyKey } = input;
  const agents = new Map<string, AgentRow>();
  for (let attempt = 1; attempt <= input.attempts; attempt++) {
    const agent = await agentFor({ ...input, attempt }, context);
    agents.set(agent.agent_id, agent);
  }
  const { subject } = envelope.payload as { subject?: unknown };
  const cancel = {
    ...envelope,
    action: `${envelope.action}.cancel`,
    idempotency_key: `${idempotencyKey}.undo`,
    causation_id: envelope.request_id,
    payload: {
      schema_version: '1.0',
      idempotency_key: idempotencyKey,
      ...(typeof subject === 'string' ? { subject } : {}),
    },
  };
  const { askAgent } = servicesOf(context);
  await Promise.all([...agents.values()].map((agent) => askAgent(agent, cancel, context.signal)));
}
