/** The effects of a remote call: requests to the program, by what makes calls of its kind. */
import { servicesOf } from '../../agent/services.ts';
import { parseAddress } from '../../protocols/address.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import {
  type RemoteCall,
  type RemoteCaller,
  type RemoteStep,
} from '../../protocols/remote-call.ts';
import type { EffectContext, EffectDefinition } from '../../runtime/index.ts';
import type { TaskOfCall } from './machine.ts';
import type { Started } from './types.ts';

/** Longer than any call: the time limit of the call is what counts. */
const START_MS = 86_400_000;
const REQUEST_MS = 60_000;

/** They only wait for a program outside, on behalf of a tool's call that has a slot. */
const waits = { takesSlot: false } as const;

const callerOf = ({ kind, server }: RemoteCall, context: EffectContext): RemoteCaller => {
  const caller = servicesOf(context).remote?.[kind];
  if (caller) return caller;
  throw new TroupeError('NOT_FOUND', `this worker makes no calls of the kind ${kind}: ${server}`);
};

const requestOf = ({ actor, signal, traceId }: EffectContext) => ({
  tenant: parseAddress(actor).tenant,
  signal,
  traceId,
});

const start: EffectDefinition<RemoteCall, Started> = {
  ...waits,
  class: 'keyed',
  timeoutMs: START_MS,
  run: (call, context) =>
    callerOf(call, context).start(call, { ...requestOf(context), idempotencyKey: keyOf(context) }),
};

const startOnce: EffectDefinition<RemoteCall, Started> = {
  ...waits,
  class: 'once',
  timeoutMs: START_MS,
  async run(call, context) {
    try {
      return await start.run(call, context);
    } catch (error) {
      if (error instanceof TroupeError || context.signal.aborted) throw error;
      return { kind: 'lost', why: errorData(error).message };
    }
  },
  reconcile: async () => ({
    outcome: { kind: 'lost', why: 'the worker that made the call died before its outcome' },
  }),
};

/** A start that is repeated after a failure is another effect: the actor is what stays the same. */
const keyOf = ({ actor, id }: EffectContext): string =>
  `${id.slice(0, id.indexOf(':'))}:${parseAddress(actor).key}`;

const follow: EffectDefinition<TaskOfCall, RemoteStep> = {
  ...waits,
  class: 'repeatable',
  timeoutMs: REQUEST_MS,
  run: ({ call, handle }, context) =>
    callerOf(call, context).follow(call, handle, requestOf(context)),
};

const cancel: EffectDefinition<TaskOfCall, null> = {
  ...waits,
  class: 'repeatable',
  timeoutMs: REQUEST_MS,
  async run({ call, handle }, context) {
    await callerOf(call, context).cancel(call, handle, requestOf(context));
    return null;
  },
};

export const remoteCallEffects = { start, startOnce, follow, cancel };
