/** Charts call a handler only for the events that it was written for with `on`. */
import { describe, expect, it } from 'vitest';
import { type AnyStateMachine, assign, setup } from 'xstate';
import { shippedActors } from '../../actors/index.ts';
import { action, handlersOf } from '../../actors/kit/handlers.ts';
import { type Delivered, hostActions } from '../../protocols/statechart.ts';
import { nodesOf } from '../../runtime/statechart/facts.ts';
import { transitionsOf } from '../../runtime/statechart/parts.ts';

type Part = unknown;

/** The events of the handler behind an action, a guard or an expression; undefined: any event. */
function eventsOf(part: Part): readonly string[] | undefined {
  if (typeof part !== 'function') return undefined;
  const { handles, collect, assignment } = part as unknown as Record<string, unknown>;
  const { events } = part as { events?: readonly string[] };
  return events ?? eventsOf(handles) ?? eventsOf(collect) ?? eventsOf(assignment);
}

/** A part as the chart names it, with its implementation and its expressions. */
function* implementationsOf(part: Part, named: Record<string, unknown>): Generator {
  if (typeof part === 'string') yield named[part];
  else if (typeof part === 'function') {
    yield part;
    const { guards = [] } = part as { guards?: readonly Part[] };
    for (const guard of guards) yield* implementationsOf(guard, named);
  } else if (typeof part === 'object' && part !== null) {
    const { type, params } = part as { type?: string; params?: unknown };
    if (type) yield named[type];
    yield params;
  }
}

const listOf = (parts: unknown): readonly Part[] =>
  Array.isArray(parts) ? parts : parts === undefined ? [] : [parts];

/** The handlers that would throw: those on a transition whose event they do not accept. */
function misplaced(machine: AnyStateMachine): string[] {
  const { actions, guards, delays } = machine.implementations;
  const found: string[] = [];
  const check = (where: string, event: string | undefined, parts: Iterable<Part>): void => {
    for (const part of parts) {
      const events = eventsOf(part);
      if (events && !(event !== undefined && events.includes(event)))
        found.push(`${where} (${event ?? 'any event'}): accepts ${events.join(', ')}`);
    }
  };
  for (const node of nodesOf(machine.root)) {
    for (const { eventType, actions: used, guard } of transitionsOf(node)) {
      const event = eventType === '' ? undefined : eventType;
      for (const one of listOf(used)) check(node.id, event, implementationsOf(one, actions));
      check(node.id, event, implementationsOf(guard, guards));
    }
    for (const one of [...node.entry, ...node.exit])
      check(node.id, undefined, implementationsOf(one, actions));
    for (const { input } of node.invoke) check(node.id, undefined, [input]);
    for (const { delay } of node.after)
      check(node.id, undefined, [typeof delay === 'string' ? delays[delay] : delay]);
  }
  return found;
}

describe('handlers', () => {
  it.each(shippedActors().map(({ type, machine }) => [type, machine] as const))(
    'of %s accept the events of the transitions that name them',
    (_, machine) => {
      expect(misplaced(machine)).toEqual([]);
    },
  );

  it('are reported where a chart names them for another event', () => {
    type Event = Delivered<{ type: 'a' }> | Delivered<{ type: 'b' }>;
    const { on } = handlersOf<{ n: number }, Event>();
    const machine = setup({
      types: { context: {} as { n: number }, events: {} as Event },
      actions: {
        ...hostActions,
        count: assign(on('a', () => ({ n: 1 }))),
        send: action(
          on('a', () => ({})),
          (_, result) => result,
        ),
      },
      guards: { isA: on('a', () => true) },
    }).createMachine({
      id: 'm',
      context: { n: 0 },
      entry: 'count',
      on: { a: { actions: 'send', guard: 'isA' }, b: { actions: 'send', guard: 'isA' } },
    });
    expect(misplaced(machine)).toEqual([
      'm (b): accepts a',
      'm (b): accepts a',
      'm (any event): accepts a',
    ]);
  });

  it('refuse an event that they do not accept', () => {
    type Event = Delivered<{ type: 'a' }> | Delivered<{ type: 'b' }>;
    const { on } = handlersOf<object, Event>();
    const meta = { id: '1', now: 1, self: 't/a/k' } as never;
    expect(on('a', () => 7)({ context: {}, event: { type: 'a', meta } })).toBe(7);
    expect(() => on('a', () => 7)({ context: {}, event: { type: 'b', meta } })).toThrow(
      'a handler of a received the event b',
    );
  });
});
