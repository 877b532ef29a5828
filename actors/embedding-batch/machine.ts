/**
 * Embedding batch: vectors of the notes of one agent, made by the batch API of the model's provider
 * within a day. Key: the agent's id. One batch at a time.
 *
 * The agent is asked first, as by a run, so its budgets apply and count what the batch used. A
 * request that fails is repeated after a pause. A batch whose creation has no known outcome,
 * because a connection broke or a process was killed, is looked up by its ticket before it is
 * created again.
 *
 * Invariants: a batch is created again only after the provider's list lacks it; it is counted once;
 * it ends within PATIENCE_MS and the time that the store needs; when it has ended, no text is
 * awaited any more. The context has no texts.
 */
import { assign, setup } from 'xstate';
import {
  BATCH_RETENTION_MS,
  type BatchLook,
  type BatchStored,
  type BatchTicket,
  type EmbeddingBatchEffects,
  type Released,
  type Uploaded,
} from '../../protocols/embedding-batch.ts';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import * as messages from './messages.ts';
import * as progress from './progress.ts';
import type { BatchContext, BatchEvent } from './types.ts';

type InputOf<Name extends keyof EmbeddingBatchEffects> = Parameters<EmbeddingBatchEffects[Name]>[0];

export const embeddingBatchMachine = setup({
  types: { context: {} as BatchContext, events: {} as BatchEvent, input: {} as ActorInput },
  actors: {
    upload: effect<Uploaded, BatchTicket>(),
    create: effect<string | null, InputOf<'create'>>(),
    find: effect<string | null, InputOf<'find'>>(),
    look: effect<BatchLook, InputOf<'look'>>(),
    cancel: effect<null, InputOf<'cancel'>>(),
    store: effect<BatchStored, InputOf<'store'>>(),
    release: effect<Released, InputOf<'release'>>(),
  },
  actions: {
    ...hostActions,
    begin: assign(progress.begin),
    noteUploaded: assign(progress.noteUploaded),
    noteBatch: assign(progress.noteBatch),
    noteRunning: assign(progress.noteRunning),
    noteCancelSent: assign(progress.noteCancelSent),
    noteStored: assign(progress.noteStored),
    noteReleased: assign(progress.noteReleased),
    noteFailure: assign(progress.noteFailure),
    noteEnd: assign(progress.noteEnd),
    finish: assign(progress.finish),
    noteCancelled: assign(progress.noteCancelled),
    wantCancel: assign(progress.wantCancel),
    noteFailed: assign(progress.noteFailed),
    noteRefused: assign(progress.noteRefused),
    giveUp: assign(progress.giveUp),
  },
  guards: {
    isOwn: progress.isOwn,
    isAdmission: progress.isAdmission,
    wantsCancel: progress.wantsCancel,
    isDone: progress.isDone,
    isCancelled: progress.isCancelled,
    isRefusal: progress.isRefusal,
    isGone: progress.isGone,
    isNothing: (_, { upload }: { upload: Uploaded }) => upload.file === null,
    isKnown: (_, { batchId }: { batchId: string | null }) => batchId !== null,
    isOver: (_, { status }: BatchLook) => status !== 'running',
    hasAnswers: (_, { status, files }: BatchLook) => status !== 'running' && files.length > 0,
  },
  delays: {
    pause: ({ context }) => context.pauseMs,
    patience: progress.PATIENCE_MS,
    retention: BATCH_RETENTION_MS,
  },
}).createMachine({
  id: 'embedding-batch',
  description: 'Vectors of the notes of one agent, made by the batch API of the provider.',
  context: ({ input }) => progress.initialContext(input),
  initial: 'unused',
  options: { maxIterations: 100 },
  states: {
    unused: {
      description: 'No batch was started yet.',
      on: {
        'batch.start': { target: 'open', actions: 'begin' },
        'batch.cancel': {
          target: 'forgotten',
          actions: { type: 'reply', params: messages.isNotOpen },
        },
      },
    },
    open: {
      description: 'A batch is under way.',
      initial: 'admitting',
      entry: { type: 'reply', params: (args) => messages.answer(args, 'admitting') },
      on: {
        'batch.start': { actions: { type: 'reply', params: messages.isOpenAlready } },
        'batch.cancel': {
          actions: ['wantCancel', { type: 'reply', params: messages.toCancel }],
        },
      },
      after: { patience: { target: 'ending', actions: 'giveUp' } },
      states: {
        admitting: {
          description: 'Asks the agent, whose budgets may be spent. A paused agent lets it wait.',
          entry: [
            { type: 'project', params: (args) => messages.row(args, { state: 'admitting' }) },
            { type: 'tell', params: messages.admit },
          ],
          on: {
            'agent.admitted': { guard: 'isOwn', target: 'uploading' },
            'agent.refused': {
              guard: 'isOwn',
              target: '#embedding-batch.ending',
              actions: 'noteRefused',
            },
            refused: {
              guard: 'isAdmission',
              target: '#embedding-batch.ending',
              actions: 'noteRefused',
            },
            'batch.cancel': {
              target: '#embedding-batch.ending',
              actions: [{ type: 'reply', params: messages.toCancel }, 'noteCancelled'],
            },
          },
        },
        uploading: {
          description: 'Sends the texts without a vector as a file. A repeat makes another file.',
          entry: { type: 'project', params: (args) => messages.row(args, { state: 'uploading' }) },
          on: {
            'batch.cancel': {
              target: '#embedding-batch.ending',
              actions: [{ type: 'reply', params: messages.toCancel }, 'noteCancelled'],
            },
          },
          invoke: {
            id: 'upload',
            src: 'upload',
            input: messages.ticketOf,
            onDone: [
              {
                guard: { type: 'isNothing', params: ({ event }) => ({ upload: event.output }) },
                target: '#embedding-batch.ending',
                actions: [
                  { type: 'noteUploaded', params: ({ event }) => ({ upload: event.output }) },
                  'finish',
                ],
              },
              {
                target: 'creating',
                actions: {
                  type: 'noteUploaded',
                  params: ({ event }) => ({ upload: event.output }),
                },
              },
            ],
            onError: [
              { guard: 'isRefusal', target: '#embedding-batch.ending', actions: 'noteFailed' },
              { target: 'uploadDelayed', actions: 'noteFailure' },
            ],
          },
        },
        uploadDelayed: {
          description: 'The texts could not be sent.',
          entry: { type: 'project', params: (args) => messages.row(args, { state: 'uploading' }) },
          on: {
            'batch.cancel': {
              target: '#embedding-batch.ending',
              actions: [{ type: 'reply', params: messages.toCancel }, 'noteCancelled'],
            },
          },
          after: { pause: { target: 'uploading' } },
        },
        creating: {
          description: 'Creates the batch. What is not known afterwards is looked up.',
          entry: { type: 'project', params: (args) => messages.row(args, { state: 'creating' }) },
          invoke: {
            id: 'create',
            src: 'create',
            input: messages.createInput,
            onDone: [
              {
                guard: { type: 'isKnown', params: ({ event }) => ({ batchId: event.output }) },
                target: 'accepted',
                actions: { type: 'noteBatch', params: ({ event }) => ({ batchId: event.output }) },
              },
              { target: 'unconfirmed' },
            ],
            onError: [
              { guard: 'isRefusal', target: '#embedding-batch.ending', actions: 'noteFailed' },
              { target: 'unconfirmed', actions: 'noteFailure' },
            ],
          },
        },
        unconfirmed: {
          description: 'The batch may exist, or not.',
          entry: { type: 'project', params: (args) => messages.row(args, { state: 'creating' }) },
          after: { pause: { target: 'finding' } },
        },
        finding: {
          description: 'Looks for a batch with the ticket in the list of the provider.',
          invoke: {
            id: 'find',
            src: 'find',
            input: messages.findInput,
            onDone: [
              {
                guard: { type: 'isKnown', params: ({ event }) => ({ batchId: event.output }) },
                target: 'accepted',
                actions: { type: 'noteBatch', params: ({ event }) => ({ batchId: event.output }) },
              },
              {
                guard: 'wantsCancel',
                target: '#embedding-batch.ending',
                actions: 'noteCancelled',
              },
              { target: 'creating' },
            ],
            onError: { target: 'unconfirmed', actions: 'noteFailure' },
          },
        },
        accepted: {
          description: 'The provider has the batch.',
          always: [{ guard: 'wantsCancel', target: 'cancelling' }, { target: 'waiting' }],
        },
        waiting: {
          description: 'The provider works on the batch.',
          entry: { type: 'project', params: (args) => messages.row(args, { state: 'waiting' }) },
          on: {
            'batch.cancel': {
              target: 'cancelling',
              actions: ['wantCancel', { type: 'reply', params: messages.toCancel }],
            },
          },
          after: { pause: { target: 'looking' } },
        },
        looking: {
          description: 'Asks the provider how far the batch is.',
          invoke: {
            id: 'look',
            src: 'look',
            input: messages.batchInput,
            onDone: [
              {
                guard: { type: 'hasAnswers', params: ({ event }) => event.output },
                target: 'storing',
                actions: { type: 'noteEnd', params: ({ event }) => event.output },
              },
              {
                guard: { type: 'isOver', params: ({ event }) => event.output },
                target: '#embedding-batch.ending',
                actions: { type: 'noteEnd', params: ({ event }) => event.output },
              },
              { guard: 'wantsCancel', target: 'cancelling' },
              { target: 'waiting', actions: 'noteRunning' },
            ],
            onError: [
              { guard: 'isGone', target: '#embedding-batch.ending', actions: 'noteFailed' },
              { target: 'waiting', actions: 'noteFailure' },
            ],
          },
        },
        cancelling: {
          description: 'Cancels the batch, which ends some minutes later.',
          entry: { type: 'project', params: (args) => messages.row(args, { state: 'cancelling' }) },
          invoke: {
            id: 'cancel',
            src: 'cancel',
            input: messages.batchInput,
            onDone: { target: 'waiting', actions: 'noteCancelSent' },
            onError: { target: 'waiting', actions: 'noteFailure' },
          },
        },
        storing: {
          description: 'Stores the vectors of the answers.',
          entry: { type: 'project', params: (args) => messages.row(args, { state: 'storing' }) },
          invoke: {
            id: 'store',
            src: 'store',
            input: messages.storeInput,
            onDone: {
              target: '#embedding-batch.ending',
              actions: { type: 'noteStored', params: ({ event }) => event.output },
            },
            onError: [
              { guard: 'isGone', target: '#embedding-batch.ending', actions: 'noteFailed' },
              { target: 'storeDelayed', actions: 'noteFailure' },
            ],
          },
        },
        storeDelayed: {
          description: 'The answers could not be read or stored.',
          entry: { type: 'project', params: (args) => messages.row(args, { state: 'storing' }) },
          after: { pause: { target: 'storing' } },
        },
      },
    },
    ending: {
      description: 'The texts are not awaited any more; removes the files of the provider.',
      entry: { type: 'project', params: (args) => messages.row(args, { state: 'ending' }) },
      on: {
        'batch.start': { actions: { type: 'reply', params: messages.isOpenAlready } },
        'batch.cancel': {
          actions: { type: 'reply', params: (args) => messages.answer(args, 'ending') },
        },
      },
      initial: 'releasing',
      states: {
        releasing: {
          description: 'The list of awaited texts is removed.',
          invoke: {
            id: 'release',
            src: 'release',
            input: messages.releaseInput,
            onDone: {
              target: '#embedding-batch.ended',
              actions: { type: 'noteReleased', params: ({ event }) => event.output },
            },
            onError: { target: 'releaseDelayed' },
          },
        },
        releaseDelayed: {
          description: 'The store did not respond.',
          after: { pause: { target: 'releasing' } },
        },
      },
    },
    ended: {
      description: 'The batch has ended, and may be followed by another one.',
      entry: { type: 'tell', params: messages.release },
      on: {
        'batch.start': { target: 'open', actions: 'begin' },
        'batch.cancel': { actions: { type: 'reply', params: messages.isNotOpen } },
      },
      after: { retention: { target: 'forgotten' } },
      initial: 'deciding',
      states: {
        deciding: {
          description: 'Chooses the next state.',
          always: [
            { guard: 'isDone', target: 'done' },
            { guard: 'isCancelled', target: 'cancelled' },
            { target: 'failed' },
          ],
        },
        done: {
          description: 'The provider has answered all texts.',
          entry: { type: 'project', params: (args) => messages.row(args, { state: 'done' }) },
        },
        cancelled: {
          description: 'An operator has cancelled it. Answers until then are stored.',
          entry: { type: 'project', params: (args) => messages.row(args, { state: 'cancelled' }) },
        },
        failed: {
          description:
            'The provider, the agent or the time ended it. Answers until then are stored.',
          entry: { type: 'project', params: (args) => messages.row(args, { state: 'failed' }) },
        },
      },
    },
    forgotten: {
      description: 'The retention time is over, or there was no batch.',
      entry: { type: 'project', params: messages.noRow },
      type: 'final',
    },
  },
});
