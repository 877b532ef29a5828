/** Messages: the row, answers, and inputs of the effects. Pure. */
import { defined } from '../../protocols/defined.ts';
import {
  type RemoteCall,
  type RemoteCallRow,
  REMOTE_CALLS_INDEX,
} from '../../protocols/remote-call.ts';
import type { Project, Reply, ReplyRef } from '../../protocols/statechart.ts';
import type { HostAction } from '../kit/handlers.ts';
import { callOf } from './progress.ts';
import type { Args, CallContext } from './types.ts';

type State = Pick<Args, 'context'>;

const rowOf = ({ context, event }: Args, state: RemoteCallRow['state']): RemoteCallRow => {
  const { id, startedAt, endedAt, task, ending, problem } = context;
  const { kind, server, name, class: callClass, caller } = callOf(context);
  return {
    id,
    kind,
    server,
    name,
    class: callClass,
    caller,
    state,
    startedAt,
    updatedAt: event.meta.now,
    ...(endedAt === null ? {} : { endedAt }),
    ...defined({ status: ending ? undefined : task?.status }),
    ...defined({ error: ending ? ending.error : (problem ?? undefined) }),
  };
};

export const row = (args: Args, { state }: { state: RemoteCallRow['state'] }): Project => ({
  index: REMOTE_CALLS_INDEX,
  key: args.context.id,
  value: rowOf(args, state),
});
export const endedRow = (args: Args): Project => row(args, { state: args.context.ending!.state });
export const noRow = ({ context }: State): Project => ({
  index: REMOTE_CALLS_INDEX,
  key: context.id,
  value: null,
});

// ---- answers

const answerTo = (to: ReplyRef | undefined, { ending }: CallContext): Reply =>
  ending?.error ? { to, error: ending.error } : { to, result: ending?.result ?? null };

/** To all that wait for the end. */
export const answers = ({ context }: State): readonly HostAction[] =>
  context.waiters.map((to) => ({ type: 'reply', params: answerTo(to, context) }));
export const answer = ({ context, event }: Args): Reply => answerTo(event.meta.reply, context);
export const cancelNoted = ({ event }: Args): Reply => ({ to: event.meta.reply, result: null });

// ---- inputs

export const startInput = ({ context }: State): RemoteCall => callOf(context);
export const taskInput = ({ context }: State) => ({
  call: callOf(context),
  handle: context.task!.handle,
});
