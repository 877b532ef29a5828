/**
 * Session: one conversation of an agent (AL1, AL2, AL9). Messages of people come in, each becomes a
 * run, and runs are serial: what comes while one is going waits in order (queue mode followup).
 *
 *  - `idle`: nobody waits for an answer.
 *  - `running.admitting`: the agent is asked whether and when the run may begin, and asked again
 *    each minute, should it have forgotten.
 *  - `running.working.thinking`: the model is called with the transcript so far.
 *  - `running.working.backingOff`: the call failed in a way that may pass; it is made again later.
 *  - `running.working.acting`: the tools that the model asked for run.
 *  - `clearing`: all was aborted; the messages that waited end first.
 *  - `ending`: the run has its one end (ok, error, aborted, timeout), all who wait are told, the
 *    next begins.
 *
 * Invariants: exactly one `run.end` entry and one end or error event per run; the transcript is
 * appended in the turn that makes it true; a run's id never changes, whatever dies (AL12).
 */
import { assign, setup } from 'xstate';
import type { ErrorData } from '../../protocols/errors.ts';
import type { AgentSettings } from '../../protocols/agent.ts';
import type { RunStatus } from '../../protocols/session.ts';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import * as abort from './abort.ts';
import * as rows from './rows.ts';
import * as run from './run.ts';
import type {
  CallModelInput,
  CallModelOutput,
  CallToolsInput,
  SessionContext,
  SessionEvent,
  ToolResult,
} from './types.ts';

/** Messages that may wait for their run (AL3). */
export const QUEUE_MAX = 20;
/** Model calls of one run. */
export const CALLS_MAX = 32;
/** Attempts of one model call. */
export const ATTEMPTS_MAX = 5;

export const sessionMachine = setup({
  types: {
    context: {} as SessionContext,
    events: {} as SessionEvent,
    input: {} as ActorInput,
  },
  actors: {
    callModel: effect<CallModelOutput, CallModelInput>(),
    callTools: effect<readonly ToolResult[], CallToolsInput>(),
  },
  actions: {
    ...hostActions,
    enqueue: assign(run.enqueue),
    begin: assign(({ context, event }) => run.begin(context, run.nowOf(event))),
    admit: assign(({ context }, p: { settings: AgentSettings }) => run.admit(context, p.settings)),
    takeAnswer: assign(({ context, event }, p: { output: CallModelOutput }) =>
      run.tookAnswer(context, { output: p.output, now: run.nowOf(event) }),
    ),
    takeResults: assign(({ context }, p: { results: readonly ToolResult[] }) =>
      run.tookResults(context, p.results),
    ),
    countAttempt: assign(({ context }, p: { error: ErrorData }) =>
      run.countAttempt(context, p.error),
    ),
    ends: assign(({ context }, p: { status: RunStatus; error?: ErrorData }) =>
      run.ends(context, p.status, p.error),
    ),
    unqueue: assign(({ context, event }) =>
      abort.unqueue(context, event.type === 'session.abort' ? event.runId : undefined),
    ),
    afterRun: assign(({ context, event }) => run.afterRun(context, run.nowOf(event))),
    dropFirst: assign(({ context }) => ({ queue: context.queue.slice(1) })),
  },
  guards: {
    queueHasRoom: ({ context }) => context.queue.length < QUEUE_MAX,
    somebodyWaits: ({ context }) => context.queue.length > 0,
    abortsAll: ({ context, event }) =>
      event.type === 'session.abort' && event.runId === undefined && context.queue.length > 0,
    abortsTheRun: ({ context, event }) =>
      event.type === 'session.abort' &&
      (event.runId === undefined || event.runId === context.run?.runId),
    abortsQueued: ({ context, event }) =>
      event.type === 'session.abort' && abort.waits(context, event.runId),
    isOurRun: ({ context, event }) => 'runId' in event && event.runId === context.run?.runId,
    admissionRefused: ({ event }) => event.type === 'refused' && event.message === 'agent.admit',
    wantsTools: ({ context }, p: { calls: number }) =>
      p.calls > 0 && (context.run?.calls ?? 0) + 1 < CALLS_MAX,
    wantsTooMuch: (_, p: { calls: number }) => p.calls > 0,
    mayPass: ({ context }, p: { error: unknown }) =>
      run.isRetriable(p.error) && (context.run?.attempt ?? 0) + 1 < ATTEMPTS_MAX,
  },
  delays: {
    runTimeout: ({ context }) => run.runTimeoutMs(context),
    retryBackoff: ({ context }) => run.retryBackoffMs(context),
    admissionPatience: 60_000,
  },
}).createMachine({
  id: 'session',
  context: ({ input }) => run.born(input),
  initial: 'idle',
  options: { maxIterations: 100 },
  states: {
    idle: {
      description: 'Nobody waits for an answer.',
      on: {
        'session.receive': {
          target: 'running',
          actions: ['enqueue', { type: 'reply', params: (args) => run.accepted(args, false) }],
        },
        'session.abort': { actions: { type: 'reply', params: abort.aborted } },
      },
    },
    running: {
      description: 'One run is going; what comes now waits for its turn.',
      entry: [
        'begin',
        {
          type: 'append',
          params: ({ context, event }) => run.userEntry(context, run.nowOf(event)),
        },
        { type: 'tell', params: ({ context }) => run.askAdmission(context) },
        { type: 'project', params: ({ context, event }) => rows.runRow(context, run.nowOf(event)) },
        { type: 'project', params: ({ context }) => rows.sessionRow(context) },
      ],
      initial: 'admitting',
      on: {
        'session.receive': [
          {
            guard: 'queueHasRoom',
            actions: [
              'enqueue',
              { type: 'reply', params: (args) => run.accepted(args, true) },
              { type: 'project', params: ({ context }) => rows.queuedRow(context) },
              { type: 'project', params: ({ context }) => rows.sessionRow(context) },
            ],
          },
          { actions: { type: 'reply', params: run.queueFull } },
        ],
        'session.abort': [
          {
            guard: 'abortsAll',
            target: 'clearing',
            actions: [
              { type: 'reply', params: abort.aborted },
              { type: 'ends', params: { status: 'aborted' } },
            ],
          },
          {
            guard: 'abortsTheRun',
            target: 'ending',
            actions: [
              { type: 'reply', params: abort.aborted },
              { type: 'ends', params: { status: 'aborted' } },
            ],
          },
          {
            guard: 'abortsQueued',
            actions: [
              { type: 'reply', params: abort.aborted },
              { type: 'project', params: ({ context, event }) => rows.abortedRow(context, event) },
              {
                type: 'publish',
                params: ({ context, event }) => abort.waitingAborted(context, event),
              },
              'unqueue',
              { type: 'project', params: ({ context }) => rows.sessionRow(context) },
            ],
          },
          { actions: { type: 'reply', params: abort.aborted } },
        ],
        'agent.refused': {
          guard: 'isOurRun',
          target: 'ending',
          actions: {
            type: 'ends',
            params: ({ event }) => ({ status: 'error', error: event.error }),
          },
        },
      },
      states: {
        admitting: {
          description: 'The agent is asked whether and when the run may begin.',
          on: {
            'agent.admitted': {
              guard: 'isOurRun',
              target: 'working',
              actions: { type: 'admit', params: ({ event }) => ({ settings: event.settings }) },
            },
            refused: {
              guard: 'admissionRefused',
              target: '#session.ending',
              actions: {
                type: 'ends',
                params: ({ event }) => ({ status: 'error', error: event.error }),
              },
            },
          },
          after: {
            admissionPatience: {
              target: 'admitting',
              reenter: true,
              actions: { type: 'tell', params: ({ context }) => run.askAdmission(context) },
            },
          },
        },
        working: {
          description:
            'The agent loop: the model thinks, tools act, until there is an answer or the time is up.',
          entry: {
            type: 'publish',
            params: ({ context, event }) => run.runStarted(context, run.nowOf(event)),
          },
          after: {
            runTimeout: {
              target: '#session.ending',
              actions: {
                type: 'ends',
                params: ({ context }) => ({ status: 'timeout', error: run.timedOut(context) }),
              },
            },
          },
          initial: 'thinking',
          states: {
            thinking: {
              description: 'The model is called with the transcript so far.',
              invoke: {
                id: 'model',
                src: 'callModel',
                input: ({ context }) => run.modelInput(context),
                onDone: [
                  {
                    guard: {
                      type: 'wantsTools',
                      params: ({ event }) => ({ calls: event.output.calls.length }),
                    },
                    target: 'acting',
                    actions: [
                      {
                        type: 'append',
                        params: ({ context, event }) =>
                          run.assistantEntry(context, event.output, run.nowOf(event)),
                      },
                      { type: 'takeAnswer', params: ({ event }) => ({ output: event.output }) },
                      { type: 'project', params: ({ context }) => rows.sessionRow(context) },
                    ],
                  },
                  {
                    guard: {
                      type: 'wantsTooMuch',
                      params: ({ event }) => ({ calls: event.output.calls.length }),
                    },
                    target: '#session.ending',
                    actions: [
                      {
                        type: 'append',
                        params: ({ context, event }) =>
                          run.assistantEntry(context, event.output, run.nowOf(event)),
                      },
                      { type: 'takeAnswer', params: ({ event }) => ({ output: event.output }) },
                      {
                        type: 'ends',
                        params: () => ({ status: 'error', error: run.tooManyCalls(CALLS_MAX) }),
                      },
                    ],
                  },
                  {
                    target: '#session.ending',
                    actions: [
                      {
                        type: 'append',
                        params: ({ context, event }) =>
                          run.assistantEntry(context, event.output, run.nowOf(event)),
                      },
                      { type: 'takeAnswer', params: ({ event }) => ({ output: event.output }) },
                      { type: 'ends', params: { status: 'ok' } },
                    ],
                  },
                ],
                onError: [
                  {
                    guard: { type: 'mayPass', params: ({ event }) => ({ error: event.error }) },
                    target: 'backingOff',
                    actions: {
                      type: 'countAttempt',
                      params: ({ event }) => ({ error: run.errorOf(event.error) }),
                    },
                  },
                  {
                    target: '#session.ending',
                    actions: {
                      type: 'ends',
                      params: ({ event }) => ({ status: 'error', error: run.errorOf(event.error) }),
                    },
                  },
                ],
              },
            },
            backingOff: {
              description:
                'The call failed in a way that may pass; it is made again after a growing wait.',
              after: { retryBackoff: { target: 'thinking' } },
            },
            acting: {
              description:
                'The tools that the model asked for run; their results go into the transcript.',
              invoke: {
                id: 'tools',
                src: 'callTools',
                input: ({ context }) => run.toolsInput(context),
                onDone: {
                  target: 'thinking',
                  actions: [
                    {
                      type: 'append',
                      params: ({ context, event }) =>
                        run.toolEntries(context, event.output, run.nowOf(event)),
                    },
                    { type: 'takeResults', params: ({ event }) => ({ results: event.output }) },
                    { type: 'project', params: ({ context }) => rows.sessionRow(context) },
                  ],
                },
                onError: {
                  target: '#session.ending',
                  actions: {
                    type: 'ends',
                    params: ({ event }) => ({ status: 'error', error: run.errorOf(event.error) }),
                  },
                },
              },
            },
          },
        },
      },
    },
    clearing: {
      description: 'All was aborted: the messages that waited end one by one, then the run does.',
      always: [
        {
          guard: 'somebodyWaits',
          actions: [
            { type: 'project', params: ({ context, event }) => rows.abortedRow(context, event) },
            {
              type: 'publish',
              params: ({ context, event }) => abort.waitingAborted(context, event),
            },
            'dropFirst',
          ],
        },
        { target: 'ending' },
      ],
    },
    ending: {
      description:
        'The run has its one end: it is written down, told to all who wait, and the next one begins.',
      entry: [
        {
          type: 'append',
          params: ({ context, event }) => run.runEndEntry(context, run.nowOf(event)),
        },
        {
          type: 'publish',
          params: ({ context, event }) => run.runEnded(context, run.nowOf(event)),
        },
        { type: 'tell', params: ({ context }) => run.releaseSlot(context) },
        { type: 'project', params: ({ context, event }) => rows.runRow(context, run.nowOf(event)) },
        'afterRun',
        { type: 'project', params: ({ context }) => rows.sessionRow(context) },
      ],
      always: [{ guard: 'somebodyWaits', target: 'running' }, { target: 'idle' }],
    },
  },
});
