/** The effect of a configuration of push notifications: one post, which may be repeated. */
import { TroupeError } from '../../protocols/errors.ts';
import type { PushDelivery, PushSender } from '../../protocols/push.ts';
import type { EffectDefinition } from '../../runtime/index.ts';

/** What the effect needs of the application; without it, nothing is posted. */
export type PushServices = { readonly push?: PushSender };

const TIMEOUT_MS = 45_000;

const post: EffectDefinition<PushDelivery, number> = {
  class: 'keyed',
  timeoutMs: TIMEOUT_MS,
  // It only waits for a program outside.
  takesSlot: false,
  async run(delivery, { services, signal }) {
    const { push } = services as PushServices;
    if (!push) throw new TroupeError('UNAVAILABLE', 'this worker posts no push notifications');
    await push(delivery, signal);
    return Number(delivery.id.slice(delivery.id.lastIndexOf('.') + 1));
  },
};

export const pushEffects = { post };
