/**
 * Schedule: one job that sends a message to a session at configured times.
 *
 * While a run of the job is active, the actor reads the row of that run now and then, until the run
 * has ended. A policy decides whether a job fires for times that passed while the system was down.
 *
 * Invariants: a job fires at most once for each due time, even after a crash or a move, because the
 * message is sent in the turn that consumes the time, and the run id is derived from the job and
 * the time; the runs of a job are serial; a change during a run applies from the next time on.
 */
import { assign, setup } from 'xstate';
import { JOB_RETENTION_MS } from '../../protocols/schedule.ts';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import * as job from './job.ts';
import * as messages from './messages.ts';
import type { Looked, LookInput, ScheduleContext, ScheduleEvent } from './job.ts';

export const scheduleMachine = setup({
  types: { context: {} as ScheduleContext, events: {} as ScheduleEvent, input: {} as ActorInput },
  actors: { look: effect<Looked, LookInput>() },
  actions: {
    ...hostActions,
    take: assign(job.take),
    enable: assign(job.enable),
    skip: assign(job.skip),
    replan: assign(job.replan),
    fire: assign(job.fire),
    fireNow: assign(job.fireNow),
    countLook: assign(job.countLook),
    noteRefused: assign(job.noteRefused),
    noteEnd: assign(job.noteEnd),
    noteLost: assign(job.noteLost),
  },
  guards: {
    isValid: job.isValid,
    isOn: job.isOn,
    hasNext: job.hasNext,
    isMissed: job.isMissed,
    isDue: job.isDue,
    isSpent: job.isSpent,
    isAnew: job.isAnew,
    isRefusal: job.isRefusal,
    isLost: job.isLost,
    hasEnded: (_, { looked }: { looked: Looked }) => looked !== null,
  },
  delays: { untilDue: job.untilDueMs, untilLook: job.lookMs, retention: JOB_RETENTION_MS },
}).createMachine({
  id: 'schedule',
  description: 'Sends a message to a session at configured times.',
  context: ({ input }) => job.initialContext(input),
  initial: 'unknown',
  options: { maxIterations: 100 },
  states: {
    unknown: {
      description: 'No job is configured yet.',
      on: {
        'schedule.put': [
          {
            guard: 'isValid',
            target: 'idle',
            actions: [
              'take',
              { type: 'reply', params: messages.tellRow },
              { type: 'publish', params: messages.sayPut },
            ],
          },
          { target: 'forgotten', actions: { type: 'reply', params: messages.unfit } },
        ],
        'schedule.enable': {
          target: 'forgotten',
          actions: { type: 'reply', params: messages.unknown },
        },
        'schedule.run': {
          target: 'forgotten',
          actions: { type: 'reply', params: messages.unknown },
        },
        'schedule.runs': {
          target: 'forgotten',
          actions: { type: 'reply', params: messages.unknown },
        },
        'schedule.get': {
          target: 'forgotten',
          actions: { type: 'reply', params: messages.unknown },
        },
        'schedule.remove': {
          target: 'forgotten',
          actions: { type: 'reply', params: messages.unknown },
        },
      },
    },
    idle: {
      description: 'No run of the job is active.',
      initial: 'planning',
      on: {
        'schedule.put': [
          {
            guard: 'isValid',
            target: '.planning',
            actions: [
              'take',
              { type: 'reply', params: messages.tellRow },
              { type: 'publish', params: messages.sayUpdated },
            ],
          },
          { actions: { type: 'reply', params: messages.unfit } },
        ],
        'schedule.enable': {
          target: '.planning',
          actions: [
            'enable',
            { type: 'reply', params: messages.tellRow },
            { type: 'publish', params: messages.sayUpdated },
          ],
        },
        'schedule.run': [
          {
            guard: 'isAnew',
            target: 'running',
            actions: [
              'fireNow',
              { type: 'tell', params: job.startAnew },
              { type: 'reply', params: messages.tellRun },
            ],
          },
          { target: 'running', actions: ['fireNow', { type: 'reply', params: messages.tellRun }] },
        ],
        'schedule.runs': { actions: { type: 'reply', params: messages.tellRuns } },
        'schedule.get': {
          actions: [
            { type: 'project', params: messages.row },
            { type: 'project', params: messages.runsRow },
            { type: 'reply', params: messages.tellRow },
          ],
        },
        'schedule.remove': {
          target: 'removed',
          actions: { type: 'reply', params: messages.tellRemoved },
        },
      },
      states: {
        planning: {
          description: 'Chooses the next state.',
          always: [
            { guard: 'isSpent', target: '#schedule.removed' },
            { guard: 'hasNext', target: 'waiting' },
            { guard: 'isOn', target: 'over' },
            { target: 'off' },
          ],
        },
        waiting: {
          description: 'The time of the next run is known.',
          entry: { type: 'project', params: messages.row },
          after: {
            untilDue: [
              { guard: 'isDue', target: 'due' },
              { target: 'planning', actions: 'replan' },
            ],
          },
        },
        due: {
          description: 'The time has come, or passed while the system was down.',
          always: [
            {
              guard: 'isMissed',
              target: 'planning',
              actions: [
                'skip',
                { type: 'project', params: messages.runsRow },
                { type: 'publish', params: messages.sayFinished },
              ],
            },
            {
              guard: 'isAnew',
              target: '#schedule.running',
              actions: ['fire', { type: 'tell', params: job.startAnew }],
            },
            { target: '#schedule.running', actions: 'fire' },
          ],
        },
        off: {
          description: 'The job is disabled.',
          entry: { type: 'project', params: messages.row },
        },
        over: {
          description: 'The job has no further times; it stays visible for a while.',
          entry: { type: 'project', params: messages.row },
          after: { retention: '#schedule.removed' },
        },
      },
    },
    running: {
      description: 'The session has the message; waits for the run to start.',
      entry: [
        { type: 'tell', params: job.receive },
        { type: 'project', params: messages.row },
        { type: 'publish', params: messages.sayStarted },
      ],
      initial: 'resting',
      on: {
        'schedule.put': [
          {
            guard: 'isValid',
            actions: [
              'take',
              { type: 'project', params: messages.row },
              { type: 'reply', params: messages.tellRow },
              { type: 'publish', params: messages.sayUpdated },
            ],
          },
          { actions: { type: 'reply', params: messages.unfit } },
        ],
        'schedule.enable': {
          actions: [
            'enable',
            { type: 'project', params: messages.row },
            { type: 'reply', params: messages.tellRow },
            { type: 'publish', params: messages.sayUpdated },
          ],
        },
        'schedule.get': {
          actions: [
            { type: 'project', params: messages.row },
            { type: 'reply', params: messages.tellRow },
          ],
        },
        'schedule.run': { actions: { type: 'reply', params: messages.runsAlready } },
        'schedule.runs': { actions: { type: 'reply', params: messages.tellRuns } },
        'schedule.remove': {
          target: 'removed',
          actions: { type: 'reply', params: messages.tellRemoved },
        },
        reply: {
          guard: 'isRefusal',
          target: 'idle',
          actions: [
            'noteRefused',
            { type: 'project', params: messages.runsRow },
            { type: 'publish', params: messages.sayFinished },
          ],
        },
        refused: {
          target: 'idle',
          actions: [
            'noteRefused',
            { type: 'project', params: messages.runsRow },
            { type: 'publish', params: messages.sayFinished },
          ],
        },
      },
      states: {
        resting: {
          description: 'The run is active, as far as is known.',
          after: { untilLook: 'looking' },
        },
        looking: {
          description: 'Reads the row of the run.',
          entry: 'countLook',
          invoke: {
            id: 'look',
            src: 'look',
            input: job.lookInput,
            onDone: [
              {
                guard: {
                  type: 'hasEnded',
                  params: ({ event }) => ({ looked: event.output }),
                },
                target: '#schedule.idle',
                actions: [
                  { type: 'noteEnd', params: ({ event }) => ({ looked: event.output }) },
                  { type: 'project', params: messages.runsRow },
                  { type: 'publish', params: messages.sayFinished },
                ],
              },
              {
                guard: 'isLost',
                target: '#schedule.idle',
                actions: [
                  'noteLost',
                  { type: 'project', params: messages.runsRow },
                  { type: 'publish', params: messages.sayFinished },
                ],
              },
              { target: 'resting' },
            ],
            onError: { target: 'resting' },
          },
        },
      },
    },
    removed: {
      description: 'The job was removed, or it is finished and its retention time is over.',
      entry: [
        { type: 'project', params: messages.noRow },
        { type: 'project', params: messages.noRunsRow },
        { type: 'publish', params: messages.sayRemoved },
      ],
      type: 'final',
    },
    forgotten: { description: 'The job never existed.', type: 'final' },
  },
});
