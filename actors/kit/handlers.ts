/**
 * Handlers: the one way to write the named actions, guards and params of a statechart. Pure.
 *
 * `handlersOf` types `on` for one actor. `on(event, handler)` narrows the event by its name, so a
 * handler needs no cast. It throws when a chart calls the handler for another event;
 * test/charts/handlers.test.ts proves that no chart does. `action` turns a function that returns an
 * `ActionResult` into an action for `setup({ actions })`. A handler that only changes context can
 * also be used in XState's own `assign`, and one that returns a message in the `params` of a host
 * action.
 */
import { enqueueActions, type EventObject, type MachineContext } from 'xstate';
import type { ErrorData } from '../../protocols/errors.ts';
import type { hostActions, Meta } from '../../protocols/statechart.ts';

/** What actions, guards and params are functions of. */
export type ActionArgs<Context, Event> = { readonly context: Context; readonly event: Event };

/** One action of the host, by name. */
export type HostAction = {
  readonly [Name in keyof typeof hostActions]: {
    readonly type: Name;
    readonly params: Parameters<(typeof hostActions)[Name]>[1];
  };
}[keyof typeof hostActions];

export type ActionResult<Context> = {
  readonly change?: Partial<Context>;
  /** in this order */
  readonly send?: readonly HostAction[];
};

/** A handler states the events that it accepts. */
export type Handler<Args, Result> = ((args: Args) => Result) & {
  readonly events: readonly string[];
};

/** The `on` of an actor with this context and these events. */
export const handlersOf = <Context, Event extends { readonly type: string }>() => ({
  on: <Type extends Event['type'], Result>(
    types: Type | readonly Type[],
    handler: (args: ActionArgs<Context, Extract<Event, { readonly type: Type }>>) => Result,
  ): Handler<ActionArgs<Context, Event>, Result> => {
    const events: readonly string[] = typeof types === 'string' ? [types] : types;
    const accepts = (event: Event): event is Extract<Event, { readonly type: Type }> =>
      events.includes(event.type);
    const narrowed = ({ context, event }: ActionArgs<Context, Event>): Result => {
      if (accepts(event)) return handler({ context, event });
      throw new Error(`a handler of ${events.join(', ')} received the event ${event.type}`);
    };
    return Object.assign(narrowed, { events });
  },
});

/**
 * An action of a chart: sends in order, and changes the context. `resultOf` converts what the
 * actor's own handlers return.
 *
 * For XState, lint and exports it is made by `enqueueActions`. It resolves itself, to the same
 * (test/actors/kit/action.test.ts): XState would compute the state value again for each change of
 * the context, and make a function for each way to enqueue.
 */
export function action<Context extends MachineContext, Event extends EventObject, Result>(
  handler: (args: ActionArgs<Context, Event>) => Result,
  resultOf: (args: ActionArgs<Context, Event>, result: Result) => ActionResult<Context>,
) {
  const resultFor = ({ context, event }: ActionArgs<Context, Event>): ActionResult<Context> => {
    const args = { context, event };
    return resultOf(args, handler(args));
  };
  const collect = ({ enqueue, ...args }: Collecting<Context, Event>): void => {
    const { change, send = [] } = resultFor(args);
    for (const one of send) enqueue(one);
    if (change) enqueue.assign(change);
  };
  const resolve: Resolve<Context, Event> = (_, snapshot, args) => {
    const { change, send } = resultFor(args);
    if (!change) return [snapshot, undefined, send];
    return [{ ...snapshot, context: { ...snapshot.context, ...change } }, undefined, send];
  };
  const made = enqueueActions<
    Context,
    Event,
    undefined,
    Event,
    never,
    HostAction,
    never,
    never,
    never
  >('events' in handler ? Object.assign(collect, { events: handler.events }) : collect);
  return Object.assign(made, { resolve });
}

type Collecting<Context extends MachineContext, Event extends EventObject> = ActionArgs<
  Context,
  Event
> & {
  readonly enqueue: ((one: HostAction) => void) & { assign(change: Partial<Context>): void };
};

/** What XState calls for a built-in action: the next snapshot, and actions to execute then. */
type Resolve<Context, Event> = <Snapshot extends { readonly context: Context }>(
  scope: unknown,
  snapshot: Snapshot,
  args: ActionArgs<Context, Event>,
) => readonly [Snapshot, undefined, readonly HostAction[] | undefined];

/** Every event carries `meta`: the host adds it to messages, timers and outcomes of effects. */
export const metaOf = ({ meta }: { readonly meta: Meta }): Meta => meta;
export const nowOf = ({ meta }: { readonly meta: Meta }): number => meta.now;

/** The output of the effect that has ended. The type is the one of the effect's placeholder. */
export const outputOf = <Output>(event: object): Output => {
  if ('output' in event) return event.output as Output;
  throw new Error('the event is not the outcome of an effect');
};

/** The error of the effect that has failed; the runtime converts what was thrown to ErrorData. */
export const errorOf = (event: object): ErrorData => {
  if ('error' in event) return event.error as ErrorData;
  throw new Error('the event is not the failure of an effect');
};
