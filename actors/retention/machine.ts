/**
 * Retention: removes what is older than the configured age, of one tenant. Key: `sweeper`.
 *
 * A sweep takes one kind of data after the other. Each of its turns first picks a bounded number of
 * items, which the context keeps, and then removes exactly these. So after a crash it removes the
 * same items again, and counts each once.
 *
 * Invariants: picking changes nothing; at most `itemsPerHour` items are removed in an hour; each
 * sweep leaves one receipt in the audit; a kind that fails again and again does not stop the
 * others; the context has no content.
 */
import { assign, setup } from 'xstate';
import type {
  RetentionPicked,
  RetentionPickInput,
  RetentionPlan,
  RetentionRemoval,
  RetentionRemoved,
} from '../../protocols/retention.ts';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import * as messages from './messages.ts';
import * as progress from './progress.ts';
import type { RetentionContext, RetentionEvent } from './types.ts';

const PAUSE_MS = 5_000;

export const retentionMachine = setup({
  types: {
    context: {} as RetentionContext,
    events: {} as RetentionEvent,
    input: {} as ActorInput,
  },
  actors: {
    plan: effect<RetentionPlan, { tenant: string; now: number }>(),
    pick: effect<RetentionPicked, RetentionPickInput>(),
    remove: effect<RetentionRemoved, RetentionRemoval>(),
  },
  actions: {
    ...hostActions,
    configure: assign(progress.configure),
    begin: assign(progress.begin),
    beginDue: assign(progress.beginDue),
    notePlan: assign(progress.notePlan),
    notePicked: assign(progress.notePicked),
    noteRemoved: assign(progress.noteRemoved),
    noteFailure: assign(progress.noteFailure),
    giveUpKind: assign(progress.giveUpKind),
    openHour: assign(progress.openHour),
    finish: assign(progress.finish),
    clearReply: assign(progress.clearReply),
  },
  guards: {
    isOver: progress.isOver,
    isSpent: progress.isSpent,
    hasItems: progress.hasItems,
    attemptsRemain: progress.attemptsRemain,
  },
  delays: { pause: PAUSE_MS, untilDue: progress.untilDueMs, rest: progress.restMs },
}).createMachine({
  id: 'retention',
  description: 'Removes what is older than the configured age, of one tenant.',
  context: ({ input }) => progress.initialContext(input),
  initial: 'unused',
  options: { maxIterations: 100 },
  states: {
    unused: {
      description: 'The installation has not started it yet.',
      on: {
        'retention.configure': { target: 'waiting', actions: 'configure' },
        'retention.sweep': { target: 'sweeping', actions: 'begin' },
      },
    },
    waiting: {
      description: 'Waits until the next sweep is due.',
      entry: { type: 'project', params: (args) => messages.row(args, { state: 'waiting' }) },
      on: {
        'retention.configure': { target: 'waiting', reenter: true, actions: 'configure' },
        'retention.sweep': { target: 'sweeping', actions: 'begin' },
      },
      after: { untilDue: { target: 'sweeping', actions: 'beginDue' } },
    },
    sweeping: {
      description: 'A sweep is under way.',
      initial: 'planning',
      on: {
        'retention.configure': { actions: 'configure' },
        'retention.sweep': { actions: { type: 'reply', params: messages.isUnderWay } },
      },
      states: {
        planning: {
          description: 'Reads the ages in effect, and counts what is older.',
          entry: { type: 'project', params: (args) => messages.row(args, { state: 'sweeping' }) },
          invoke: {
            id: 'plan',
            src: 'plan',
            input: progress.planInput,
            onDone: {
              target: 'choosing',
              actions: { type: 'notePlan', params: ({ event }) => event.output },
            },
            onError: { target: 'planDelayed', actions: 'noteFailure' },
          },
        },
        planDelayed: {
          description: 'Something could not be read.',
          entry: [
            { type: 'project', params: (args) => messages.row(args, { state: 'delayed' }) },
            { type: 'reply', params: (args) => messages.answer(args, { state: 'delayed' }) },
            'clearReply',
          ],
          after: { pause: { target: 'planning' } },
        },
        choosing: {
          description: 'Continues, rests until the next hour of the budget, or ends.',
          always: [
            { guard: 'isOver', target: '#retention.finished' },
            { guard: 'isSpent', target: 'resting' },
            { target: 'picking', actions: 'openHour' },
          ],
        },
        picking: {
          description: 'Looks for the next items of a kind that are too old.',
          invoke: {
            id: 'pick',
            src: 'pick',
            input: progress.pickInput,
            onDone: [
              {
                guard: { type: 'hasItems', params: ({ event }) => event.output },
                target: 'removing',
                actions: { type: 'notePicked', params: ({ event }) => event.output },
              },
              {
                target: 'choosing',
                actions: { type: 'notePicked', params: ({ event }) => event.output },
              },
            ],
            onError: [
              { guard: 'attemptsRemain', target: 'pickDelayed', actions: 'noteFailure' },
              { target: 'choosing', actions: 'giveUpKind' },
            ],
          },
        },
        pickDelayed: {
          description: 'Something could not be read.',
          entry: { type: 'project', params: (args) => messages.row(args, { state: 'delayed' }) },
          after: { pause: { target: 'picking' } },
        },
        removing: {
          description: 'Removes the items, unless they are used again or held.',
          entry: { type: 'project', params: (args) => messages.row(args, { state: 'sweeping' }) },
          invoke: {
            id: 'remove',
            src: 'remove',
            input: progress.removeInput,
            onDone: {
              target: 'choosing',
              actions: { type: 'noteRemoved', params: ({ event }) => event.output },
            },
            onError: [
              { guard: 'attemptsRemain', target: 'removalDelayed', actions: 'noteFailure' },
              { target: 'choosing', actions: 'giveUpKind' },
            ],
          },
        },
        removalDelayed: {
          description: 'Something could not be removed.',
          entry: { type: 'project', params: (args) => messages.row(args, { state: 'delayed' }) },
          after: { pause: { target: 'removing' } },
        },
        resting: {
          description: 'What an hour may remove is removed.',
          entry: [
            { type: 'project', params: (args) => messages.row(args, { state: 'resting' }) },
            { type: 'reply', params: (args) => messages.answer(args, { state: 'resting' }) },
            'clearReply',
          ],
          after: { rest: { target: 'choosing', actions: 'openHour' } },
        },
      },
    },
    finished: {
      description: 'The sweep has ended: sends its receipt to the audit.',
      entry: [
        'finish',
        { type: 'tell', params: messages.receipt },
        { type: 'reply', params: (args) => messages.answer(args, { state: 'waiting' }) },
        'clearReply',
      ],
      always: { target: 'waiting' },
    },
  },
});
