/**
 * Process: a saga. It runs its steps in order, as tasks; another agent verifies each step. When a
 * step fails, it undoes the steps that were done, or may have been done, in reverse order. A user
 * decides about a step that cannot be undone.
 *
 * Invariants: a step is done when its evidence says so; each step whose work may have been done is
 * undone and verified, left in place by a user, or named in the error; a repeated request receives
 * the same outcome; an answer of a task that is no longer awaited changes nothing.
 */
import { assign, setup } from 'xstate';
import type { ErrorData } from '../../protocols/errors.ts';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import { TASK_RETENTION_MS } from '../../protocols/task.ts';
import * as account from './account.ts';
import * as saga from './saga.ts';
import type {
  Concluded,
  ConcludeInput,
  Planned,
  PlanInput,
  ProcessContext,
  ProcessEvent,
} from './types.ts';

export const processMachine = setup({
  types: {
    context: {} as ProcessContext,
    events: {} as ProcessEvent,
    input: {} as ActorInput,
  },
  actors: { plan: effect<Planned, PlanInput>(), conclude: effect<Concluded, ConcludeInput>() },
  actions: {
    ...hostActions,
    onOrder: assign(saga.onOrder),
    keepAsker: assign(saga.keepAsker),
    enter: assign(saga.enter),
    cancel: assign(saga.cancel),
    keepPlan: assign(saga.keepPlan),
    keepResult: assign(saga.keepResult),
    keepEvidence: assign(saga.keepEvidence),
    keepConclusion: assign((_, { result }: { result: unknown }) => ({ result })),
    nextStep: assign(saga.nextStep),
    failStep: assign(saga.failStep),
    failProof: assign(saga.failProof),
    failPlan: assign(saga.failPlan),
    takeLast: assign(saga.takeLast),
    keepUndo: assign(saga.keepUndo),
    keepUndoEvidence: assign(saga.keepUndoEvidence),
    keepTrouble: assign(saga.keepTrouble),
    keepPlanTrouble: assign(saga.keepPlanTrouble),
    countQuestion: assign(saga.countQuestion),
    again: assign(saga.again),
    leave: assign(saga.leave),
  },
  guards: {
    isOrder: saga.isOrder,
    isAwaited: saga.isAwaited,
    succeeded: saga.succeeded,
    verified: saga.verified,
    lacksProof: saga.lacksProof,
    hasNext: saga.hasNext,
    lacksUndoProof: saga.lacksUndoProof,
    somethingToUndo: saga.somethingToUndo,
    saysAgain: saga.saysAgain,
    saysSkip: saga.saysSkip,
    saysAbort: saga.saysAbort,
  },
  delays: { askAgainPause: 60_000, retention: TASK_RETENTION_MS },
}).createMachine({
  id: 'saga',
  description:
    'A saga: runs steps in order and verifies each; undoes them in reverse when one fails.',
  context: ({ input }) => saga.initialContext(input),
  initial: 'unstarted',
  options: { maxIterations: 100 },
  on: { '*': { guard: 'isOrder', actions: 'keepAsker' } },
  states: {
    unstarted: {
      description: 'The process was not requested yet.',
      on: {
        'task.cancel': { target: 'ended.compensated', actions: 'cancel' },
        '*': { guard: 'isOrder', target: 'working', actions: ['onOrder', 'keepAsker'] },
      },
    },
    working: {
      description: 'Runs the steps in order.',
      initial: 'planning',
      on: { 'task.cancel': { target: 'undoing', actions: 'cancel' } },
      states: {
        planning: {
          description: 'Prepares the payload of the step.',
          entry: [
            { type: 'enter', params: { state: 'planning' } },
            { type: 'project', params: account.row },
          ],
          invoke: {
            id: 'planAct',
            src: 'plan',
            input: ({ context }) => saga.planFor(context, 'act'),
            onDone: {
              target: 'acting',
              actions: {
                type: 'keepPlan',
                params: ({ event }) => ({ call: event.output, phase: 'act' as const }),
              },
            },
            onError: {
              target: '#saga.undoing',
              actions: {
                type: 'failPlan',
                params: ({ event }) => ({
                  error: event.error as ErrorData,
                  phase: 'plan' as const,
                }),
              },
            },
          },
        },
        acting: {
          description: 'The task of the step runs.',
          entry: [
            { type: 'enter', params: { state: 'acting' } },
            { type: 'tell', params: saga.submit },
            { type: 'project', params: account.row },
          ],
          on: {
            reply: [
              { guard: 'succeeded', target: 'next', actions: 'keepResult' },
              { guard: 'isAwaited', target: '#saga.undoing', actions: 'failStep' },
            ],
            'task.cancel': {
              target: 'stopping',
              actions: ['cancel', { type: 'tell', params: saga.cancelTask }],
            },
          },
        },
        stopping: {
          description:
            'The process was cancelled while a task runs; waits for the outcome of the task.',
          entry: [
            { type: 'enter', params: { state: 'stopping' } },
            { type: 'project', params: account.row },
          ],
          on: {
            reply: [
              { guard: 'succeeded', target: '#saga.undoing', actions: 'keepResult' },
              { guard: 'isAwaited', target: '#saga.undoing', actions: 'failStep' },
            ],
            'task.cancel': { actions: 'cancel' },
          },
        },
        next: {
          description: 'Chooses the verification of this step, the next step, or the end.',
          always: [
            { guard: 'lacksProof', target: 'planningProof' },
            { guard: 'hasNext', target: 'planning', actions: 'nextStep' },
            { target: 'concluding' },
          ],
        },
        planningProof: {
          description: 'Prepares the payload of the verification.',
          invoke: {
            id: 'planVerify',
            src: 'plan',
            input: ({ context }) => saga.planFor(context, 'verify'),
            onDone: {
              target: 'verifying',
              actions: {
                type: 'keepPlan',
                params: ({ event }) => ({ call: event.output, phase: 'verify' as const }),
              },
            },
            onError: {
              target: '#saga.undoing',
              actions: {
                type: 'failPlan',
                params: ({ event }) => ({
                  error: event.error as ErrorData,
                  phase: 'plan' as const,
                }),
              },
            },
          },
        },
        verifying: {
          description: 'Another agent verifies that the step was done.',
          entry: [
            { type: 'enter', params: { state: 'verifying' } },
            { type: 'tell', params: saga.submit },
            { type: 'project', params: account.row },
          ],
          on: {
            reply: [
              { guard: 'verified', target: 'next', actions: 'keepEvidence' },
              { guard: 'isAwaited', target: '#saga.undoing', actions: 'failProof' },
            ],
            'task.cancel': {
              target: '#saga.undoing',
              actions: ['cancel', { type: 'tell', params: saga.cancelTask }],
            },
          },
        },
        concluding: {
          description: 'All steps are done; computes the result.',
          invoke: {
            id: 'conclude',
            src: 'conclude',
            input: ({ context }) => saga.toConclude(context),
            onDone: {
              target: '#saga.ended.succeeded',
              actions: {
                type: 'keepConclusion',
                params: ({ event }) => ({ result: event.output.result }),
              },
            },
            onError: {
              target: '#saga.undoing',
              actions: {
                type: 'failPlan',
                params: ({ event }) => ({
                  error: event.error as ErrorData,
                  phase: 'result' as const,
                }),
              },
            },
          },
        },
      },
    },
    undoing: {
      description: 'Undoes the steps that were done or may have been done.',
      initial: 'next',
      on: { 'task.cancel': {} },
      states: {
        next: {
          description:
            'Chooses the verification of this compensation, the previous step, or the end.',
          entry: { type: 'enter', params: { state: 'undoing' } },
          always: [
            { guard: 'lacksUndoProof', target: 'planningProof' },
            { guard: 'somethingToUndo', target: 'planning', actions: 'takeLast' },
            { target: '#saga.ended.compensated' },
          ],
        },
        planning: {
          description: 'Prepares the payload of the compensation.',
          entry: { type: 'project', params: account.row },
          invoke: {
            id: 'planUndo',
            src: 'plan',
            input: ({ context }) => saga.planFor(context, 'undo'),
            onDone: {
              target: 'acting',
              actions: {
                type: 'keepPlan',
                params: ({ event }) => ({ call: event.output, phase: 'undo' as const }),
              },
            },
            onError: {
              target: 'awaitingPerson',
              actions: {
                type: 'keepPlanTrouble',
                params: ({ event }) => ({ error: event.error as ErrorData }),
              },
            },
          },
        },
        acting: {
          description: 'The compensation task runs; it retries failed attempts itself.',
          entry: [
            { type: 'tell', params: saga.submit },
            { type: 'project', params: account.row },
          ],
          on: {
            reply: [
              { guard: 'succeeded', target: 'next', actions: 'keepUndo' },
              { guard: 'isAwaited', target: 'awaitingPerson', actions: 'keepTrouble' },
            ],
          },
        },
        planningProof: {
          description: 'Prepares the payload of the verification.',
          invoke: {
            id: 'planVerifyUndo',
            src: 'plan',
            input: ({ context }) => saga.planFor(context, 'verifyUndo'),
            onDone: {
              target: 'verifying',
              actions: {
                type: 'keepPlan',
                params: ({ event }) => ({ call: event.output, phase: 'verifyUndo' as const }),
              },
            },
            onError: {
              target: 'awaitingPerson',
              actions: {
                type: 'keepPlanTrouble',
                params: ({ event }) => ({ error: event.error as ErrorData }),
              },
            },
          },
        },
        verifying: {
          description: 'Another agent verifies that the step was undone.',
          entry: [
            { type: 'tell', params: saga.submit },
            { type: 'project', params: account.row },
          ],
          on: {
            reply: [
              { guard: 'verified', target: 'next', actions: 'keepUndoEvidence' },
              { guard: 'isAwaited', target: 'awaitingPerson', actions: 'keepTrouble' },
            ],
          },
        },
        awaitingPerson: {
          description: 'The step could not be undone; a user decides what to do.',
          entry: [
            { type: 'enter', params: { state: 'awaiting_person' } },
            'countQuestion',
            { type: 'tell', params: saga.askForDecision },
            { type: 'project', params: account.row },
          ],
          exit: { type: 'enter', params: { state: 'undoing' } },
          on: {
            reply: [
              { guard: 'saysAgain', target: 'planning', actions: 'again' },
              { guard: 'saysSkip', target: 'next', actions: 'leave' },
              { guard: 'saysAbort', target: '#saga.ended.abandoned' },
              { guard: 'isAwaited', target: 'askingAgain' },
            ],
          },
        },
        askingAgain: {
          description: 'The question expired or was not delivered.',
          after: { askAgainPause: 'awaitingPerson' },
        },
      },
    },
    ended: {
      description: 'The outcome is final; a repeated request receives the same answer.',
      initial: 'compensated',
      after: { retention: 'forgotten' },
      on: {
        'task.cancel': {},
        '*': {
          guard: 'isOrder',
          actions: ['keepAsker', { type: 'reply', params: account.lastWord }],
        },
      },
      states: {
        succeeded: {
          description: 'Every step is done, and verified if it has a verifier.',
          entry: [
            { type: 'enter', params: { state: 'succeeded' } },
            { type: 'project', params: account.row },
            { type: 'reply', params: account.lastWord },
          ],
        },
        compensated: {
          description: 'All steps are undone, except those that a user left in place.',
          entry: [
            { type: 'enter', params: { state: 'compensated' } },
            { type: 'project', params: account.row },
            { type: 'reply', params: account.lastWord },
          ],
        },
        abandoned: {
          description: 'A user ended the process with steps that are not undone.',
          entry: [
            { type: 'enter', params: { state: 'abandoned' } },
            { type: 'project', params: account.row },
            { type: 'reply', params: account.lastWord },
          ],
        },
      },
    },
    forgotten: {
      description: 'The retention time is over.',
      entry: { type: 'project', params: account.noRow },
      type: 'final',
    },
  },
});
