/**
 * Sequence: keeps the last number of one sender in one subject and MAJOR version (EN4), and hands
 * every submit on to its task. Address: `sequenceAddress`; row: index `sequences`.
 *
 *  - `keeping`: a number above the last one is taken and its submit goes on as it is; any other
 *    submit goes on marked as stale, because only its task knows whether it is a repeat.
 *  - `forgotten`: nobody sent anything for 28 hours, longer than an envelope may live.
 *
 * It lies on every envelope's way, so a turn does one assign, one row and one message. Its one
 * timer is armed at birth and again only when it fires.
 *
 * Invariants: the number never falls; each submit is handed on exactly once, whatever its number.
 */
import { assign, setup } from 'xstate';
import {
  type ActorInput,
  type Delivered,
  hostActions,
  type Meta,
  type Tell,
} from '../../protocols/statechart.ts';
import { type SequencePass, TASK_RETENTION_MS } from '../../protocols/task.ts';

export type SequenceContext = {
  /** 0 before the first */
  readonly last: number;
  /** shard time of the last submit, whatever its number */
  readonly usedAt: number;
};

/** The asker's reference goes along: the task answers. */
const handOn = ({ to, submit, meta }: Delivered<SequencePass>): Tell => ({
  to,
  event: meta.reply ? { ...submit, replyTo: meta.reply } : submit,
});

const handOnStale = (pass: Delivered<SequencePass>, last: number): Tell => {
  const { to, event } = handOn(pass);
  return { to, event: { ...event, stale: last } };
};

/** The initial event of an actor has no `meta`; its input has the time. */
const nowOf = ({ meta }: { readonly meta?: Meta }, context: SequenceContext): number =>
  meta?.now ?? context.usedAt;

export const sequenceMachine = setup({
  types: {
    context: {} as SequenceContext,
    events: {} as Delivered<SequencePass>,
    input: {} as ActorInput,
  },
  actions: {
    ...hostActions,
    remember: assign(({ event }) => ({ last: event.seq, usedAt: event.meta.now })),
    noteUse: assign(({ event }) => ({ usedAt: event.meta.now })),
  },
  guards: {
    isAbove: ({ context, event }) => event.seq > context.last,
    wasUsed: ({ context, event }) => nowOf(event, context) < context.usedAt + TASK_RETENTION_MS,
  },
  delays: {
    idleTime: ({ context, event }) => context.usedAt + TASK_RETENTION_MS - nowOf(event, context),
  },
}).createMachine({
  id: 'sequence',
  context: ({ input }) => ({ last: 0, usedAt: input.now }),
  initial: 'keeping',
  options: { maxIterations: 10 },
  states: {
    keeping: {
      description: 'Passes submits with a higher number; marks all others as stale.',
      on: {
        'sequence.pass': [
          {
            guard: 'isAbove',
            actions: ['remember', { type: 'tell', params: ({ event }) => handOn(event) }],
          },
          {
            actions: [
              'noteUse',
              { type: 'tell', params: ({ context, event }) => handOnStale(event, context.last) },
            ],
          },
        ],
      },
      after: {
        idleTime: [{ guard: 'wasUsed', target: 'keeping', reenter: true }, { target: 'forgotten' }],
      },
    },
    forgotten: {
      description: 'Nothing was sent for 28 hours.',
      type: 'final',
    },
  },
});
