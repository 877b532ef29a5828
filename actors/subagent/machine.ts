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
import * as told from './told.ts';

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
          actions: { type: 'reply', params: told.unknown },
        },
        'subagent.steer': {
          target: 'forgotten',
          actions: { type: 'reply', params: told.unknown },
        },
        'subagent.report': {
          target: 'forgotten',
          actions: { type: 'reply', params: told.unknown },
        },
        'subagent.move': {
          target: 'forgotten',
          actions: { type: 'reply', params: told.unknown },
        },
      },
    },
    reserved: {
      description: 'The subagent has its grant and waits for a slot of its parent.',
      entry: { type: 'project', params: told.row },
      after: { placePatience: { target: 'over.killed', actions: 'giveUpWaiting' } },
      on: {
        'subagent.go': 'working',
        'subagent.move': {
          actions: [
            { type: 'project', params: told.noRow },
            'move',
            { type: 'project', params: told.row },
          ],
        },
        'subagent.steer': { actions: { type: 'reply', params: told.notRunning } },
        'subagent.kill': {
          target: 'over.killed',
          actions: ['kill', { type: 'reply', params: told.killed }],
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
            { type: 'project', params: told.noRow },
            'move',
            { type: 'project', params: told.row },
          ],
        },
        'subagent.steer': { actions: { type: 'reply', params: told.notRunning } },
        'subagent.kill': {
          target: 'ending',
          actions: ['kill', { type: 'reply', params: told.killed }],
        },
      },
      initial: 'starting',
      states: {
        starting: {
          description: 'The task was sent. A run end that arrives before the reply is deferred.',
          meta: { defer: ['run.ended'] },
          entry: [
            { type: 'tell', params: told.task },
            { type: 'project', params: told.row },
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
            { type: 'publish', params: told.startEvent },
            { type: 'project', params: told.row },
          ],
          on: {
            'run.ended': [
              {
                guard: 'goesOn',
                actions: ['count', { type: 'project', params: told.row }],
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
                  { type: 'tell', params: told.steer },
                  { type: 'reply', params: told.delivered },
                ],
              },
              { actions: { type: 'reply', params: told.unsaid } },
            ],
          },
        },
      },
    },
    ending: {
      description:
        'The session and all subagents below it were told to stop; waits for their usage.',
      entry: [
        { type: 'tell', params: told.abort },
        { type: 'tell', params: told.killBelow },
        { type: 'project', params: told.row },
      ],
      after: {
        stopPatience: {
          description: 'Stops everything that was started in the session in the meantime.',
          target: 'over',
          actions: [
            { type: 'tell', params: told.abort },
            { type: 'tell', params: told.killBelow },
          ],
        },
      },
      on: {
        'run.ended': [
          { guard: 'isLast', target: 'over', actions: 'count' },
          {
            guard: 'isItsRun',
            actions: ['count', { type: 'tell', params: told.abort }],
          },
        ],
        reply: { guard: 'taskIsRefused', target: 'over' },
        refused: { guard: 'taskIsRefused', target: 'over' },
        'subagent.move': {
          actions: [
            { type: 'project', params: told.noRow },
            'move',
            { type: 'project', params: told.row },
          ],
        },
        'subagent.steer': { actions: { type: 'reply', params: told.notRunning } },
        'subagent.kill': { actions: { type: 'reply', params: told.killed } },
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
        { type: 'publish', params: told.endEvent },
        { type: 'project', params: told.row },
      ],
      after: { hearingPatience: { target: 'reported', actions: 'noteUnheard' } },
      on: {
        'subagent.kill': { actions: { type: 'reply', params: told.killedNothing } },
        'subagent.move': {
          guard: 'isMoved',
          target: '.addressing',
          actions: [
            { type: 'project', params: told.noRow },
            'move',
            { type: 'project', params: told.row },
          ],
        },
        'subagent.steer': { actions: { type: 'reply', params: told.notRunning } },
      },
      initial: 'addressing',
      states: {
        addressing: {
          description: 'Checks whether there is a parent to notify.',
          always: [
            { guard: 'hasParent', target: 'telling' },
            { target: '#subagent.reported', actions: 'noteUnheard' },
          ],
        },
        telling: {
          description: 'The end was sent to the parent.',
          entry: { type: 'tell', params: told.end },
          on: {
            'subagent.heard': [
              { guard: 'isTooEarly', target: 'pausing', actions: 'waitForAdoption' },
              { guard: 'isByParent', target: '#subagent.reported', actions: 'hear' },
            ],
            'subagent.report': {
              guard: 'isByParent',
              actions: { type: 'tell', params: told.endAgain },
            },
            refused: [
              { guard: 'mayPass', target: 'pausing' },
              {
                guard: 'endIsRefused',
                target: '#subagent.reported',
                actions: 'noteUnheard',
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
      entry: { type: 'project', params: told.row },
      on: {
        'subagent.heard': {
          guard: 'isByParent',
          actions: ['hear', { type: 'project', params: told.row }],
        },
        'subagent.report': {
          guard: 'isByParent',
          actions: { type: 'tell', params: told.endAgain },
        },
        'subagent.kill': { actions: { type: 'reply', params: told.killedNothing } },
        'subagent.move': {
          actions: [
            { type: 'project', params: told.noRow },
            'move',
            { type: 'project', params: told.row },
          ],
        },
        'subagent.steer': { actions: { type: 'reply', params: told.notRunning } },
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
            readableTime: { target: 'remembered', actions: { type: 'tell', params: told.close } },
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
      entry: { type: 'project', params: told.noRow },
      type: 'final',
    },
    forgotten: { description: 'The subagent never existed.', type: 'final' },
  },
});
