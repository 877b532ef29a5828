/**
 * Sequence: stores the last sequence number of one sender in one subject and MAJOR version, and
 * passes every submit to its task. Address: `sequenceAddress`; row: index `sequences`.
 *
 * A submit with a higher number passes unchanged. Any other submit passes marked as stale: only its
 * task can tell whether it is a repeat. The actor is removed after 28 hours without a submit,
 * longer than an envelope is valid.
 *
 * Every envelope passes through such an actor, so a turn does one assign, one row and one message.
 * Its one timer is set at creation and again only when it fires.
 *
 * Invariants: the number never decreases; each submit is passed on exactly once.
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

/** Passes the caller's reference on, because the task sends the reply. */
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
