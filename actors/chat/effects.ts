/** The effects of channels and chats. What they do is in `ChannelEffects`. */
import type { ConnectInput, ConnectOutput, SendOutcome } from '../../protocols/channel.ts';
import type { EffectDefinition } from '../../runtime/index.ts';
import { channelsOf } from './services.ts';
import type {
  EditInput,
  FollowInput,
  FollowOutput,
  PrepareInput,
  PrepareOutput,
  SendInput,
  SendOutput,
} from './types.ts';

const DAY_MS = 86_400_000;
const REQUEST_MS = 60_000;
const PREPARE_MS = 300_000;

/** As long as the connection; after a day it is opened again. */
export const connect: EffectDefinition<ConnectInput, ConnectOutput> = {
  class: 'repeatable',
  timeoutMs: DAY_MS,
  run: (input, context) => channelsOf(context).connect(input, context),
};

export const prepare: EffectDefinition<PrepareInput, PrepareOutput> = {
  class: 'repeatable',
  timeoutMs: PREPARE_MS,
  run: (input, context) => channelsOf(context).prepare(input, context),
};

/** A send that was interrupted is never repeated before the service was asked about it. */
export const send: EffectDefinition<SendInput, SendOutput> = {
  class: 'once',
  timeoutMs: REQUEST_MS,
  run: (input, context) => channelsOf(context).send(input, context.signal),
  async reconcile(input, context) {
    const outcome = await channelsOf(context).reconcile(input, context.signal);
    return outcome.status === 'not_sent' ? 'again' : { outcome };
  },
};

export const reconcile: EffectDefinition<SendInput, SendOutcome> = {
  class: 'repeatable',
  timeoutMs: REQUEST_MS,
  run: (input, context) => channelsOf(context).reconcile(input, context.signal),
};

export const follow: EffectDefinition<FollowInput, FollowOutput> = {
  class: 'repeatable',
  timeoutMs: DAY_MS,
  run: (input, context) => channelsOf(context).follow(input, context.signal),
};

export const edit: EffectDefinition<EditInput, null> = {
  class: 'repeatable',
  timeoutMs: DAY_MS,
  run: (input, context) => channelsOf(context).edit(input, context.signal),
};
