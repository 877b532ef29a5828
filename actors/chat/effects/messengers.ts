/** The effects that the process with the connections runs, as `ChannelEffects` describes them. */
import {
  accountKey,
  type ConnectInput,
  type ConnectOutput,
  type PositionRow,
  POSITIONS_INDEX,
  type SendOutcome,
} from '../../../protocols/channel.ts';
import type { EffectDefinition } from '../../../runtime/index.ts';
import { channelsOf } from './channel-services.ts';
import type {
  EditInput,
  FollowInput,
  FollowOutput,
  SendInput,
  SendOutput,
} from '../../../protocols/channel-effects.ts';

const DAY_MS = 86_400_000;
const REQUEST_MS = 60_000;

/** As long as the connection; after a day it is opened again. */
export const connect: EffectDefinition<ConnectInput, ConnectOutput> = {
  class: 'repeatable',
  timeoutMs: DAY_MS,
  takesSlot: false,
  async run(input, context) {
    const key = accountKey(input);
    const from = await context.row<PositionRow>(context.actor, POSITIONS_INDEX, key);
    return channelsOf(context).connect(input, from, context.signal);
  },
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

/** Runs as long as the run, which needs the slots. */
export const follow: EffectDefinition<FollowInput, FollowOutput> = {
  class: 'repeatable',
  timeoutMs: DAY_MS,
  takesSlot: false,
  run: (input, context) => channelsOf(context).follow(input, context.signal),
};

/** Runs as long as the run, as `follow`. */
export const edit: EffectDefinition<EditInput, null> = {
  class: 'repeatable',
  timeoutMs: DAY_MS,
  takesSlot: false,
  run: (input, context) => channelsOf(context).edit(input, context.signal),
};
