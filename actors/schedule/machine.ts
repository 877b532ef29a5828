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
import * as told from './told.ts';
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
              { type: 'reply', params: told.tellRow },
              { type: 'publish', params: told.sayPut },
            ],
          },
          { target: 'forgotten', actions: { type: 'reply', params: told.unfit } },
        ],
        'schedule.enable': {
          target: 'forgotten',
          actions: { type: 'reply', params: told.unknown },
        },
        'schedule.run': { target: 'forgotten', actions: { type: 'reply', params: told.unknown } },
        'schedule.runs': { target: 'forgotten', actions: { type: 'reply', params: told.unknown } },
        'schedule.get': { target: 'forgotten', actions: { type: 'reply', params: told.unknown } },
        'schedule.remove': {
          target: 'forgotten',
          actions: { type: 'reply', params: told.unknown },
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
              { type: 'reply', params: told.tellRow },
              { type: 'publish', params: told.sayUpdated },
            ],
          },
          { actions: { type: 'reply', params: told.unfit } },
        ],
        'schedule.enable': {
          target: '.planning',
          actions: [
            'enable',
            { type: 'reply', params: told.tellRow },
            { type: 'publish', params: told.sayUpdated },
          ],
        },
        'schedule.run': [
          {
            guard: 'isAnew',
            target: 'running',
            actions: [
              'fireNow',
              { type: 'tell', params: job.startAnew },
              { type: 'reply', params: told.tellRun },
            ],
          },
          { target: 'running', actions: ['fireNow', { type: 'reply', params: told.tellRun }] },
        ],
        'schedule.runs': { actions: { type: 'reply', params: told.tellRuns } },
        'schedule.get': {
          actions: [
            { type: 'project', params: told.row },
            { type: 'project', params: told.runsRow },
            { type: 'reply', params: told.tellRow },
          ],
        },
        'schedule.remove': {
          target: 'removed',
          actions: { type: 'reply', params: told.tellRemoved },
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
          entry: { type: 'project', params: told.row },
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
                { type: 'project', params: told.runsRow },
                { type: 'publish', params: told.sayFinished },
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
          entry: { type: 'project', params: told.row },
        },
        over: {
          description: 'The job has no further times; it stays visible for a while.',
          entry: { type: 'project', params: told.row },
          after: { retention: '#schedule.removed' },
        },
      },
    },
    running: {
      description: 'The session has the message; waits for the run to start.',
      entry: [
        { type: 'tell', params: job.receive },
        { type: 'project', params: told.row },
        { type: 'publish', params: told.sayStarted },
      ],
      initial: 'resting',
      on: {
        'schedule.put': [
          {
            guard: 'isValid',
            actions: [
              'take',
              { type: 'project', params: told.row },
              { type: 'reply', params: told.tellRow },
              { type: 'publish', params: told.sayUpdated },
            ],
          },
          { actions: { type: 'reply', params: told.unfit } },
        ],
        'schedule.enable': {
          actions: [
            'enable',
            { type: 'project', params: told.row },
            { type: 'reply', params: told.tellRow },
            { type: 'publish', params: told.sayUpdated },
          ],
        },
        'schedule.get': {
          actions: [
            { type: 'project', params: told.row },
            { type: 'reply', params: told.tellRow },
          ],
        },
        'schedule.run': { actions: { type: 'reply', params: told.runsAlready } },
        'schedule.runs': { actions: { type: 'reply', params: told.tellRuns } },
        'schedule.remove': {
          target: 'removed',
          actions: { type: 'reply', params: told.tellRemoved },
        },
        reply: {
          guard: 'isRefusal',
          target: 'idle',
          actions: [
            'noteRefused',
            { type: 'project', params: told.runsRow },
            { type: 'publish', params: told.sayFinished },
          ],
        },
        refused: {
          target: 'idle',
          actions: [
            'noteRefused',
            { type: 'project', params: told.runsRow },
            { type: 'publish', params: told.sayFinished },
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
                  { type: 'project', params: told.runsRow },
                  { type: 'publish', params: told.sayFinished },
                ],
              },
              {
                guard: 'isLost',
                target: '#schedule.idle',
                actions: [
                  'noteLost',
                  { type: 'project', params: told.runsRow },
                  { type: 'publish', params: told.sayFinished },
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
        { type: 'project', params: told.noRow },
        { type: 'project', params: told.noRunsRow },
        { type: 'publish', params: told.sayRemoved },
      ],
      type: 'final',
    },
    forgotten: { description: 'The job never existed.', type: 'final' },
  },
});
