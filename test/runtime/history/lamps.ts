/**
 * Lamps: actors that show every kind of turn (messages that are applied, wait and are ignored,
 * effects, timers, messages to others), and a store that remembers what is trimmed.
 */
import { assign, setup } from 'xstate';
import { address } from '../../../protocols/address.ts';
import {
  type ActorInput,
  type Delivered,
  effect,
  hostActions,
  type Message,
} from '../../../protocols/statechart.ts';
import { type ActorDefinition, defineActor } from '../../../runtime/index.ts';
import type { HistoryKept } from '../../../runtime/history/policy.ts';
import type { Log, LogEntry } from '../../../runtime/log/log.ts';

export const ada = { principal: { sub: 'ada', roles: ['user'] } };
export const lamp = (n: number) => address('t', 'lamp', `desk ${n}`);
const bell = address('t', 'lamp', 'bell');

const machine = setup({
  types: {
    context: {} as { rings: number; last: string },
    events: {} as Delivered<Message>,
    input: {} as ActorInput,
  },
  actors: { heat: effect<string, { rings: number }>() },
  actions: {
    ...hostActions,
    countRing: assign({
      rings: ({ context }) => context.rings + 1,
      last: ({ event }) => event.meta?.id ?? '',
    }),
  },
  guards: { isLoud: ({ event }) => event['loud'] === true },
  delays: { while: 3 },
}).createMachine({
  id: 'lamp',
  context: { rings: 0, last: '' },
  initial: 'off',
  states: {
    off: {
      on: {
        press: 'warming',
        ring: [
          { guard: 'isLoud', actions: 'countRing' },
          { actions: ['countRing', { type: 'append', params: { entries: [{ type: 'rang' }] } }] },
        ],
        remove: 'gone',
      },
    },
    warming: {
      meta: { defer: ['ring', 'remove'] },
      invoke: {
        id: 'heating',
        src: 'heat',
        input: ({ context }) => ({ rings: context.rings }),
        onDone: 'lit',
        onError: 'off',
      },
    },
    lit: {
      initial: 'steady',
      states: { steady: { on: { press: 'dim' } }, dim: {} },
      after: {
        while: {
          target: 'off',
          actions: { type: 'tell', params: { to: bell, event: { type: 'ring', loud: true } } },
        },
      },
      on: { ring: { actions: 'countRing' }, remove: 'gone' },
    },
    gone: { type: 'final' },
  },
});

/** Every third heating fails. */
export function lampType(
  keep: HistoryKept,
  guards: { isLoud?: (args: { event: Message }) => boolean } = {},
): ActorDefinition {
  let heated = 0;
  const run = async () => {
    if (++heated % 3 === 0) throw new Error('it is broken');
    return 'warm';
  };
  return defineActor({
    type: 'lamp',
    version: 1,
    machine: machine.provide({ guards }),
    effects: { heat: { class: 'repeatable', run } },
    whenDone: 'forget',
    history: { keep, turns: 100_000 },
  });
}

/** The log, and a second one that never forgets what was trimmed. */
export function remembering(log: Log, trims = true): { readonly log: Log; readonly all: Log } {
  const trimmed = new Map<string, LogEntry[]>();
  const remember = async (subject: string, upTo: number) => {
    const known = trimmed.get(subject) ?? [];
    trimmed.set(subject, known);
    for (;;) {
      const from = (known.at(-1)?.position ?? 0) + 1;
      const entries = (await log.read(subject, from)).filter(({ position }) => position <= upTo);
      if (entries.length === 0) return;
      // A concurrent call may have remembered some.
      const last = known.at(-1)?.position ?? 0;
      known.push(...entries.filter(({ position }) => position > last));
    }
  };
  const own: Log = {
    atomic: log.atomic,
    append: (...args) => log.append(...args),
    last: (subject) => log.last(subject),
    readLast: (subject) => log.readLast(subject),
    read: (...args) => log.read(...args),
    follow: (...args) => log.follow(...args),
    close: () => log.close(),
    async trim(subject, upTo) {
      await remember(subject, upTo);
      if (trims) await log.trim(subject, upTo);
    },
  };
  const read: Log['read'] = async (subject, from, options) => {
    const before = (trimmed.get(subject) ?? []).filter(({ position }) => position >= from);
    if (before.length > 0) return before;
    return log.read(subject, from, options);
  };
  return { log: own, all: { ...own, read } };
}
