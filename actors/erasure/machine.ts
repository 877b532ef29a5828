/**
 * Erasure: removes everything that is stored of a session, a user or a tenant, and writes a receipt
 * to the audit. Key: `{kind}:{id}`.
 *
 * It looks for the data first, and stores the keys of the sessions that it found, because a later
 * step would not find them again. Each step may be repeated: after a failure, or after the process
 * was killed.
 *
 * Invariants: what a legal hold covers is refused before anything is removed; `done` is reached
 * only after the bytes have left the disk; no content is in the context.
 */
import { assign, setup } from 'xstate';
import type {
  ErasureCounts,
  ErasureReach,
  ErasureScrub,
  ErasureSurvey,
  ErasureTarget,
  ErasureWork,
} from '../../protocols/erasure.ts';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import * as progress from './progress.ts';
import type { ErasureContext, ErasureEvent } from './types.ts';

const PAUSE_MS = 5_000;

export const erasureMachine = setup({
  types: { context: {} as ErasureContext, events: {} as ErasureEvent, input: {} as ActorInput },
  actors: {
    survey: effect<ErasureSurvey, ErasureTarget>(),
    remove: effect<ErasureCounts, ErasureWork>(),
    scrub: effect<ErasureReach, ErasureScrub>(),
  },
  actions: {
    ...hostActions,
    begin: assign(progress.begin),
    noteFound: assign(progress.noteFound),
    noteRefused: assign(progress.noteRefused),
    noteFailure: assign(progress.noteFailure),
    noteRemoved: assign(progress.noteRemoved),
    noteReached: assign(progress.noteReached),
    noteScrubbed: assign(progress.noteScrubbed),
  },
  guards: { isScrubbed: progress.isScrubbed },
  delays: { pause: PAUSE_MS },
}).createMachine({
  id: 'erasure',
  description: 'Removes everything that is stored of a session, a user or a tenant.',
  context: ({ input }) => progress.initialContext(input),
  initial: 'unused',
  options: { maxIterations: 20 },
  states: {
    unused: {
      description: 'Nothing was requested yet.',
      on: { 'erasure.request': { target: 'surveying', actions: 'begin' } },
    },
    surveying: {
      description: 'Looks for the data, and for legal holds on it.',
      entry: { type: 'project', params: (args) => progress.row(args, { state: 'surveying' }) },
      on: { 'erasure.request': { actions: { type: 'reply', params: progress.isUnderWay } } },
      invoke: {
        id: 'survey',
        src: 'survey',
        input: progress.targetOf,
        onDone: {
          target: 'found',
          actions: { type: 'noteFound', params: ({ event }) => event.output },
        },
        onError: { target: 'refused', actions: 'noteRefused' },
      },
    },
    found: {
      description: 'The data is found and not held: answers the request.',
      entry: { type: 'reply', params: progress.found },
      always: { target: 'removing' },
    },
    removing: {
      description: 'Removes files, actors, rows, mail, dead letters and transcripts.',
      entry: { type: 'project', params: (args) => progress.row(args, { state: 'removing' }) },
      on: { 'erasure.request': { actions: { type: 'reply', params: progress.isUnderWay } } },
      invoke: {
        id: 'remove',
        src: 'remove',
        input: progress.workOf,
        onDone: {
          target: 'scrubbing',
          actions: { type: 'noteRemoved', params: ({ event }) => event.output },
        },
        onError: { target: 'removalDelayed', actions: 'noteFailure' },
      },
    },
    removalDelayed: {
      description: 'Something could not be removed.',
      entry: { type: 'project', params: (args) => progress.row(args, { state: 'removing' }) },
      on: { 'erasure.request': { actions: { type: 'reply', params: progress.isUnderWay } } },
      after: { pause: { target: 'removing' } },
    },
    scrubbing: {
      description: 'Removes the bytes from journals, mailboxes, streams and local data.',
      entry: { type: 'project', params: (args) => progress.row(args, { state: 'scrubbing' }) },
      on: { 'erasure.request': { actions: { type: 'reply', params: progress.isScrubbing } } },
      invoke: {
        id: 'scrub',
        src: 'scrub',
        input: progress.scrubOf,
        onDone: [
          {
            target: 'done',
            guard: { type: 'isScrubbed', params: ({ event }) => event.output },
            actions: { type: 'noteScrubbed', params: ({ event }) => event.output },
          },
          {
            target: 'scrubbing',
            reenter: true,
            actions: { type: 'noteReached', params: ({ event }) => event.output },
          },
        ],
        onError: { target: 'scrubDelayed', actions: 'noteFailure' },
      },
    },
    scrubDelayed: {
      description: 'The store could not be written.',
      entry: { type: 'project', params: (args) => progress.row(args, { state: 'scrubbing' }) },
      on: { 'erasure.request': { actions: { type: 'reply', params: progress.isScrubbing } } },
      after: { pause: { target: 'scrubbing' } },
    },
    done: {
      description: 'The data is gone; the receipt is sent to the audit.',
      entry: [
        { type: 'project', params: (args) => progress.row(args, { state: 'done' }) },
        { type: 'tell', params: progress.receipt },
      ],
      on: { 'erasure.request': { target: 'surveying', actions: 'begin' } },
    },
    refused: {
      description: 'A legal hold covers part of the data, or nothing of the target is stored.',
      entry: [
        { type: 'project', params: (args) => progress.row(args, { state: 'refused' }) },
        { type: 'reply', params: progress.refusal },
      ],
      on: { 'erasure.request': { target: 'surveying', actions: 'begin' } },
    },
  },
});
