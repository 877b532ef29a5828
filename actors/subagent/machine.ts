/**
 * Subagent: one task that a session gave to a session of its own, from the grant to the report of
 * its end.
 *
 * Invariants: the task is sent once; every state has a time limit, so each subagent reaches
 * `reported`, whatever is lost; a parent accepts one end, and further reports are marked `again`;
 * at most one start event and one end event are published.
 */
import * as life from './life.ts';
import { subagentSetup } from './setup.ts';
import * as messages from './messages.ts';

export const subagentMachine = subagentSetup.createMachine({
  id: 'subagent',
  description: 'One task that runs in a session of its own.',
  context: ({ input }) => life.initialContext(input),
  initial: 'unknown',
  options: { maxIterations: 100 },
  states: {
    unknown: {
      description: 'Nothing was reserved; a request for it finds nothing.',
      on: {
        'subagent.reserve': [
          { guard: 'holds', target: 'reserved', actions: 'take' },
          { target: 'working', actions: 'take' },
        ],
        'subagent.kill': {
          target: 'forgotten',
          actions: { type: 'reply', params: messages.unknown },
        },
        'subagent.steer': {
          target: 'forgotten',
          actions: { type: 'reply', params: messages.unknown },
        },
        'subagent.report': {
          target: 'forgotten',
          actions: { type: 'reply', params: messages.unknown },
        },
        'subagent.move': {
          target: 'forgotten',
          actions: { type: 'reply', params: messages.unknown },
        },
      },
    },
    reserved: {
      description: 'The subagent has its grant and waits for a slot of its parent.',
      entry: { type: 'project', params: messages.row },
      after: { placePatience: { target: 'over.killed', actions: 'giveUpWaiting' } },
      on: {
        'subagent.go': 'working',
        'subagent.move': {
          actions: [
            { type: 'project', params: messages.noRow },
            'move',
            { type: 'project', params: messages.row },
          ],
        },
        'subagent.steer': { actions: { type: 'reply', params: messages.notRunning } },
        'subagent.kill': {
          target: 'over.killed',
          actions: ['kill', { type: 'reply', params: messages.killed }],
        },
      },
    },
    working: {
      description: 'The session works on the task until it has no open runs, subagents or reports.',
      entry: 'start',
      after: { wholeTime: { target: 'ending', actions: 'timeOut' } },
      on: {
        'subagent.move': {
          actions: [
            { type: 'project', params: messages.noRow },
            'move',
            { type: 'project', params: messages.row },
          ],
        },
        'subagent.steer': { actions: { type: 'reply', params: messages.notRunning } },
        'subagent.kill': {
          target: 'ending',
          actions: ['kill', { type: 'reply', params: messages.killed }],
        },
      },
      initial: 'starting',
      states: {
        starting: {
          description: 'The task was sent. A run end that arrives before the reply is deferred.',
          meta: { defer: ['run.ended'] },
          entry: [
            { type: 'tell', params: messages.task },
            { type: 'project', params: messages.row },
          ],
          on: {
            reply: [
              {
                guard: 'taskIsRefused',
                target: '#subagent.over.refused',
                actions: 'noteRefused',
              },
              { target: 'running', actions: 'accept' },
            ],
            refused: {
              guard: 'taskIsRefused',
              target: '#subagent.over.refused',
              actions: 'noteRefused',
            },
          },
        },
        running: {
          description: 'The session works, or waits for subagents that it started.',
          entry: [
            { type: 'publish', params: messages.startEvent },
            { type: 'project', params: messages.row },
          ],
          on: {
            'run.ended': [
              {
                guard: 'goesOn',
                actions: ['count', { type: 'project', params: messages.row }],
              },
              { guard: 'endsOk', target: '#subagent.over.completed', actions: 'count' },
              {
                guard: 'leavesOthers',
                target: '#subagent.ending',
                actions: ['count', 'fail'],
              },
              {
                guard: 'endsLate',
                target: '#subagent.over.timedOut',
                actions: ['count', 'fail'],
              },
              {
                guard: 'isItsRun',
                target: '#subagent.over.failed',
                actions: ['count', 'fail'],
              },
            ],
            'subagent.steer': [
              {
                guard: 'isSaying',
                actions: [
                  'countSteer',
                  { type: 'tell', params: messages.steer },
                  { type: 'reply', params: messages.delivered },
                ],
              },
              { actions: { type: 'reply', params: messages.unsaid } },
            ],
          },
        },
      },
    },
    ending: {
      description:
        'The session and all subagents below it were asked to stop; waits for their usage.',
      entry: [
        { type: 'tell', params: messages.abort },
        { type: 'tell', params: messages.killBelow },
        { type: 'project', params: messages.row },
      ],
      after: {
        stopPatience: {
          description: 'Stops everything that was started in the session in the meantime.',
          target: 'over',
          actions: [
            { type: 'tell', params: messages.abort },
            { type: 'tell', params: messages.killBelow },
          ],
        },
      },
      on: {
        'run.ended': [
          { guard: 'isLast', target: 'over', actions: 'count' },
          {
            guard: 'isItsRun',
            actions: ['count', { type: 'tell', params: messages.abort }],
          },
        ],
        reply: { guard: 'taskIsRefused', target: 'over' },
        refused: { guard: 'taskIsRefused', target: 'over' },
        'subagent.move': {
          actions: [
            { type: 'project', params: messages.noRow },
            'move',
            { type: 'project', params: messages.row },
          ],
        },
        'subagent.steer': { actions: { type: 'reply', params: messages.notRunning } },
        'subagent.kill': { actions: { type: 'reply', params: messages.killed } },
      },
    },
    over: {
      description: 'The outcome is known and never changes.',
      initial: 'stopped',
      states: {
        stopped: {
          description: 'The subagent was stopped; chooses the outcome.',
          always: [
            { guard: { type: 'stopsAs', params: { outcome: 'timedOut' } }, target: 'timedOut' },
            { guard: { type: 'stopsAs', params: { outcome: 'killed' } }, target: 'killed' },
            { target: 'failed' },
          ],
        },
        completed: {
          description: 'The session has answered and has nothing open.',
          entry: { type: 'conclude', params: { outcome: 'completed' } },
          always: '#subagent.reporting',
        },
        failed: {
          description: 'A run of the session failed or was aborted.',
          entry: { type: 'conclude', params: { outcome: 'failed' } },
          always: '#subagent.reporting',
        },
        timedOut: {
          description: 'The time limit was reached.',
          entry: { type: 'conclude', params: { outcome: 'timedOut' } },
          always: '#subagent.reporting',
        },
        killed: {
          description: 'The parent or an operator stopped it, or no slot became free.',
          entry: { type: 'conclude', params: { outcome: 'killed' } },
          always: '#subagent.reporting',
        },
        refused: {
          description: 'The session refused the task.',
          entry: { type: 'conclude', params: { outcome: 'refused' } },
          always: '#subagent.reporting',
        },
      },
    },
    reporting: {
      description: 'Reports the end to the parent, which answers how its agent receives it.',
      entry: [
        { type: 'publish', params: messages.endEvent },
        { type: 'project', params: messages.row },
      ],
      after: { hearingPatience: { target: 'reported', actions: 'noteUnreported' } },
      on: {
        'subagent.kill': { actions: { type: 'reply', params: messages.killedNothing } },
        'subagent.move': {
          guard: 'isMoved',
          target: '.addressing',
          actions: [
            { type: 'project', params: messages.noRow },
            'move',
            { type: 'project', params: messages.row },
          ],
        },
        'subagent.steer': { actions: { type: 'reply', params: messages.notRunning } },
      },
      initial: 'addressing',
      states: {
        addressing: {
          description: 'Checks whether there is a parent to notify.',
          always: [
            { guard: 'hasParent', target: 'telling' },
            { target: '#subagent.reported', actions: 'noteUnreported' },
          ],
        },
        telling: {
          description: 'The end was sent to the parent.',
          entry: { type: 'tell', params: messages.end },
          on: {
            'subagent.heard': [
              { guard: 'isTooEarly', target: 'pausing', actions: 'waitForAdoption' },
              { guard: 'isByParent', target: '#subagent.reported', actions: 'noteReport' },
            ],
            'subagent.report': {
              guard: 'isByParent',
              actions: { type: 'tell', params: messages.endAgain },
            },
            refused: [
              { guard: 'mayPass', target: 'pausing' },
              {
                guard: 'endIsRefused',
                target: '#subagent.reported',
                actions: 'noteUnreported',
              },
            ],
          },
        },
        pausing: {
          description:
            'The parent could not accept the report, or has not yet adopted the subagent.',
          after: { pauseBeforeRetelling: 'telling' },
        },
      },
    },
    reported: {
      description: 'The report was delivered; how the agent received it may still change.',
      entry: { type: 'project', params: messages.row },
      on: {
        'subagent.heard': {
          guard: 'isByParent',
          actions: ['noteReport', { type: 'project', params: messages.row }],
        },
        'subagent.report': {
          guard: 'isByParent',
          actions: { type: 'tell', params: messages.endAgain },
        },
        'subagent.kill': { actions: { type: 'reply', params: messages.killedNothing } },
        'subagent.move': {
          actions: [
            { type: 'project', params: messages.noRow },
            'move',
            { type: 'project', params: messages.row },
          ],
        },
        'subagent.steer': { actions: { type: 'reply', params: messages.notRunning } },
      },
      initial: 'choosing',
      states: {
        choosing: {
          description: 'Checks whether the subagent had a session.',
          always: [{ guard: 'hasSession', target: 'readable' }, { target: 'remembered' }],
        },
        readable: {
          description: 'The session can be read and can receive messages from authorized sessions.',
          after: {
            readableTime: {
              target: 'remembered',
              actions: { type: 'tell', params: messages.close },
            },
          },
        },
        remembered: {
          description: 'Only the row of the subagent is left.',
          after: { rememberedTime: '#subagent.removed' },
        },
      },
    },
    removed: {
      description: 'The retention time is over.',
      entry: { type: 'project', params: messages.noRow },
      type: 'final',
    },
    forgotten: { description: 'The subagent never existed.', type: 'final' },
  },
});
