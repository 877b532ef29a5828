/**
 * Root: one actor per cell (key `cluster`). It holds the configured agents and supervises every
 * actor that has no supervisor of its own.
 *
 *  - Region `life`: the life cycle of the process that runs the cell.
 *  - Region `supervision`: one-for-one supervision, with a restart intensity and a backoff per
 *    actor. An actor that exceeds the intensity is quarantined, and a row of the index `alarms`
 *    reports it.
 *  - Region `placement`: the state of the cell's workers, as they report it. An embedded cell has
 *    none.
 *  - Region `outbox`: sends orders in batches when one turn may not send them all.
 *
 * Invariants: each reported failure gets exactly one order. Actors are not listed, only those that
 * failed within the last period, up to a bound (I8).
 */
import { assign, setup } from 'xstate';
import { type ActorInput, hostActions } from '../../protocols/statechart.ts';
import * as outbox from '../supervisor/outbox.ts';
import * as strategy from '../supervisor/strategy.ts';
import * as cluster from './cluster.ts';
import * as placement from './placement.ts';
import type { RootContext, RootEvent } from './types.ts';

export const rootMachine = setup({
  types: { context: {} as RootContext, events: {} as RootEvent, input: {} as ActorInput },
  actions: {
    ...hostActions,
    start: assign(cluster.start),
    amend: assign(cluster.amend),
    confirm: assign(cluster.confirm),
    forgetStarter: assign({ starter: null }),
    noteTime: assign(({ event }) => ({ since: event.meta.now })),
    noteFailure: assign(cluster.noteFailure),
    plan: assign(cluster.plan),
    orderDue: assign(cluster.orderDue),
    giveUp: assign(cluster.giveUp),
    forgetOldestAlarm: assign(cluster.forgetOldestAlarm),
    dismiss: assign(cluster.dismiss),
    noteActive: assign(placement.noteActive),
    noteDraining: assign(placement.noteDraining),
    noteLost: assign(placement.noteLost),
    forgetWorker: assign(placement.forget),
    forgetLost: assign(placement.forgetLost),
    forgetSuperfluous: assign(placement.forgetSuperfluous),
    newBatch: assign((args) => outbox.newBatch(args)),
    dropFirst: assign((args) => outbox.dropFirst(args)),
  },
  guards: {
    allConfirmed: ({ context }) => context.unconfirmed.length === 0,
    isOneTooMany: cluster.isOneTooMany,
    hasWaiting: strategy.hasWaiting,
    hasTooManyAlarms: cluster.hasTooManyAlarms,
    isKnownAlarm: cluster.isKnownAlarm,
    isSeeded: cluster.isSeeded,
    isNewcomer: placement.isNewcomer,
    isKnownWorker: placement.isKnownWorker,
    isActiveWorker: placement.isActiveWorker,
    isServingWorker: placement.isServingWorker,
    hasTooManyWorkers: placement.hasTooManyWorkers,
    noWorkerServes: placement.noWorkerServes,
    hasTells: outbox.hasTells,
    batchHasRoom: outbox.batchHasRoom,
  },
  delays: {
    restartBackoff: strategy.restartBackoffMs,
    startPatience: 10_000,
    calm: 5_000,
    nextTurn: 0,
  },
}).createMachine({
  id: 'root',
  description: 'The top of the cell: its life cycle and the supervisor of last resort.',
  context: ({ input }) => cluster.initialContext(input),
  options: { maxIterations: 1_000 },
  type: 'parallel',
  states: {
    life: {
      description: 'The life cycle of the process that runs the cell.',
      initial: 'unstarted',
      on: {
        'root.start': { target: '.starting', actions: 'start' },
        'root.amend': { target: '.starting', actions: 'amend' },
        reply: { actions: 'confirm' },
        'root.drain': {
          target: '.draining',
          actions: [
            'noteTime',
            { type: 'reply', params: (args) => cluster.answered(args, 'draining') },
          ],
        },
        'root.stopped': {
          target: '.stopped',
          actions: [
            'noteTime',
            { type: 'reply', params: (args) => cluster.answered(args, 'stopped') },
          ],
        },
      },
      states: {
        unstarted: {
          description: 'No process has sent the configuration yet.',
        },
        starting: {
          description: 'Sends the agents their settings; another start waits.',
          meta: { defer: ['root.start', 'root.amend'] },
          entry: { type: 'project', params: (args) => cluster.clusterRow(args, 'starting') },
          always: { guard: 'allConfirmed', target: 'running' },
          after: { startPatience: { target: 'running' } },
        },
        running: {
          description: 'The agents have their settings; entry points are open.',
          entry: [
            'noteTime',
            { type: 'project', params: (args) => cluster.clusterRow(args, 'running') },
            { type: 'reply', params: cluster.started },
            'forgetStarter',
          ],
          on: {
            'root.start': [
              {
                guard: 'isSeeded',
                actions: { type: 'reply', params: cluster.startedAlready },
              },
              { target: 'starting', actions: 'start' },
            ],
          },
        },
        draining: {
          description: 'Entry points accept no new work; current work finishes.',
          entry: { type: 'project', params: (args) => cluster.clusterRow(args, 'draining') },
        },
        stopped: {
          description: 'Everything is committed and the process ends; the next start resumes here.',
          entry: { type: 'project', params: (args) => cluster.clusterRow(args, 'stopped') },
        },
      },
    },
    supervision: {
      description: 'Supervises actors whose turn failed.',
      initial: 'watching',
      on: {
        'supervision.down': [
          {
            guard: 'isOneTooMany',
            target: '.watching',
            actions: ['noteFailure', { type: 'project', params: cluster.alarmRow }, 'giveUp'],
          },
          { target: '.watching', actions: ['noteFailure', 'plan'] },
        ],
        'alarm.dismiss': [
          {
            guard: 'isKnownAlarm',
            actions: [
              'dismiss',
              { type: 'project', params: cluster.dismissedAlarm },
              { type: 'reply', params: (args) => cluster.dismissed(args, true) },
            ],
          },
          { actions: { type: 'reply', params: (args) => cluster.dismissed(args, false) } },
        ],
      },
      states: {
        watching: {
          description: 'No restart order is pending.',
          always: [
            {
              guard: 'hasTooManyAlarms',
              actions: [{ type: 'project', params: cluster.oldestAlarmGone }, 'forgetOldestAlarm'],
            },
            { guard: 'hasWaiting', target: 'backingOff' },
          ],
        },
        backingOff: {
          description: 'Failed actors are suspended until the first order is due.',
          after: { restartBackoff: { target: 'watching', actions: 'orderDue' } },
        },
      },
    },
    placement: {
      description: 'The state of the cell’s workers.',
      initial: 'unattended',
      on: {
        'worker.joined': {
          guard: 'isNewcomer',
          target: '.settling',
          actions: ['noteActive', { type: 'project', params: placement.activeRow }],
        },
        'worker.draining': {
          guard: 'isActiveWorker',
          target: '.settling',
          actions: ['noteDraining', { type: 'project', params: placement.drainingRow }],
        },
        'worker.left': {
          guard: 'isKnownWorker',
          target: '.settling',
          actions: ['forgetWorker', { type: 'project', params: placement.workerGone }],
        },
        'worker.lost': {
          guard: 'isServingWorker',
          target: '.settling',
          actions: ['noteLost', { type: 'project', params: placement.lostRow }],
        },
      },
      states: {
        unattended: {
          description: 'No worker serves; requests wait until one joins.',
        },
        settling: {
          description: 'A worker joined, left or was lost recently; shards are moving.',
          entry: { type: 'project', params: (args) => placement.placementRow(args, 'settling') },
          always: [
            {
              guard: 'hasTooManyWorkers',
              actions: [
                { type: 'project', params: placement.superfluousGone },
                'forgetSuperfluous',
                { type: 'project', params: (args) => placement.placementRow(args, 'settling') },
              ],
            },
            {
              guard: 'noWorkerServes',
              target: 'unattended',
              actions: {
                type: 'project',
                params: (args) => placement.placementRow(args, 'unattended'),
              },
            },
          ],
          after: { calm: { target: 'steady' } },
        },
        steady: {
          description: 'Every serving worker has served for a while.',
          entry: [
            'forgetLost',
            { type: 'project', params: (args) => placement.placementRow(args, 'steady') },
          ],
        },
      },
    },
    outbox: {
      description: 'Sends orders in batches, each in its own turn.',
      initial: 'empty',
      states: {
        empty: {
          description: 'No message is pending.',
          always: { guard: 'hasTells', target: 'sending' },
        },
        sending: {
          description: 'Sends as much as one turn may send; the rest follows in the next turn.',
          entry: 'newBatch',
          always: [
            {
              guard: 'batchHasRoom',
              actions: [{ type: 'tell', params: outbox.firstTell }, 'dropFirst'],
            },
            { guard: 'hasTells', target: 'full' },
            { target: 'empty' },
          ],
        },
        full: {
          description: 'This turn has sent its batch.',
          after: { nextTurn: { target: 'sending' } },
        },
      },
    },
  },
});
