/**
 * check: validates a result that arrived as a message (of an actor, or of an operator) against the
 * action's declaration, as a result of an effect.
 */
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import type { EffectDefinition } from '../../../runtime/index.ts';
import type { CheckInput, Outcome } from '../types.ts';
import { placement, servicesFor } from './action-context.ts';
import { failed, outcomeOf } from './work-outcome.ts';

export const check: EffectDefinition<CheckInput, Outcome> = {
  class: 'repeatable',
  placement,
  async run({ envelope, terms, result }, context) {
    const services = servicesFor({ envelope }, context);
    const definition = services.actions.find(envelope.action, envelope.action_version);
    try {
      return await outcomeOf({ envelope, terms, value: result }, definition, services);
    } catch (error) {
      // The work itself was done: it is not done again because of this.
      const { code, message } = errorData(error);
      return failed(new TroupeError(code, message));
    }
  },
};
