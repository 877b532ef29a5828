/**
 * Session: one conversation of an agent. Each message starts a run or joins one. Runs are serial.
 *
 * A run is admitted by the agent (`admitting`), unless the session has a standing lease; then the
 * agent loop works (`working`): it builds the prompt, calls the model and runs tools until the run
 * is `over`. Hooks may change the reply (`replying`); `ending` records the outcome. After a reset
 * or a deletion, `parting` calls the hooks for its end before another session starts under the same
 * key. `between` runs chooses what is next. A session is also the parent of subagents and the
 * requester of conversations. It may begin as a fork (fork.ts) or by an import.
 *
 * Invariants:
 *  1. Each accepted message ends once, alone or with the run that it joined, with one last event.
 *  2. A run has one `run.end` entry. A transcript entry is appended in the turn that it describes.
 *  3. The id of a run never changes, even after a crash.
 */
import { toolsInput } from './run/batch.ts';
import { endSessionInput } from './run/abort.ts';
import { compactInput } from './run/compaction.ts';
import { copyInput } from './fork.ts';
import { assembleInput } from './run/prompt.ts';
import { initialContext, modelInput, replyInput } from './run/run.ts';
import { sessionSetup } from './setup.ts';

export const sessionMachine = sessionSetup.createMachine({
  id: 'session',
  description: 'One conversation of an agent.',
  context: ({ input }) => initialContext(input),
  initial: 'idle',
  options: { maxIterations: 200 },
  on: {
    'session.set': { actions: 'set' },
    'session.inject': { actions: 'refuseInjection' },
    'session.fork': { actions: 'refuseFork' },
    'session.import': { actions: 'answerImport' },
    'session.compact': { actions: 'refuseCompaction' },
    'session.abort': { actions: 'abort' },
    'session.close': { target: '.between', actions: 'askClose' },
    'session.expire': [
      { guard: 'isUnused', target: '.between', actions: 'askClose' },
      { actions: 'refuseExpiry' },
    ],
    'session.spawn': { actions: 'spawn' },
    'session.kill': { actions: 'kill' },
    'subagent.ended': { actions: 'onSubagentEnded' },
    refused: { actions: 'onRefusal' },
    'session.adopt': { actions: 'adopt' },
    'session.converse': { actions: 'converse' },
    'conversation.answered': { actions: 'onConversationAnswer' },
    'session.probe': { actions: 'probe' },
    'session.cycle': { actions: 'cycle' },
    'agent.admitted': { actions: 'returnSlot' },
    'agent.refused': { description: 'Ignored: the run no longer waits for an admission.' },
  },
  states: {
    idle: {
      description: 'No run is active and no message waits.',
      on: {
        'session.receive': [
          { guard: 'hasExpired', target: 'between', actions: ['expire', 'wait'] },
          { guard: 'mayAccept', target: 'running', actions: 'receive' },
          { actions: 'refuseMessage' },
        ],
        'session.compact': [
          { guard: 'knowsSettings', target: 'compacting', actions: 'askCompaction' },
          { actions: 'answerNothing' },
        ],
        'session.inject': { actions: 'inject' },
        'session.fork': { guard: 'isNew', target: 'forking', actions: 'askFork' },
        'session.import': { guard: 'beginsImport', target: 'importing', actions: 'onImportPage' },
        'session.reset': { target: 'between', actions: 'askReset' },
        'subagent.ended': { target: 'between', actions: 'onSubagentEnded' },
        refused: { target: 'between', actions: 'onRefusal' },
      },
    },
    forking: {
      description: 'A new session copies the conversation of another one; messages wait.',
      invoke: {
        id: 'copying',
        src: 'copy',
        input: copyInput,
        onDone: [
          { guard: 'hasMore', target: 'forking', reenter: true, actions: 'onPage' },
          { target: 'between', actions: ['onPage', 'endFork'] },
        ],
        onError: { target: 'between', actions: 'failFork' },
      },
      on: {
        'session.receive': [{ guard: 'hasRoom', actions: 'wait' }, { actions: 'refuseMessage' }],
        'session.reset': { target: 'between', actions: ['cancelFork', 'askReset'] },
        'session.close': { target: 'between', actions: ['cancelFork', 'askClose'] },
      },
    },
    importing: {
      description: 'A new session receives a conversation of another installation; messages wait.',
      always: { guard: 'isImported', target: 'between' },
      on: {
        'session.import': { actions: 'onImportPage' },
        'session.receive': [{ guard: 'hasRoom', actions: 'wait' }, { actions: 'refuseMessage' }],
        'session.reset': { target: 'between', actions: ['endImport', 'askReset'] },
      },
    },
    collecting: {
      description: 'Collects messages and reports until a pause; they become one run.',
      after: { quiet: { target: 'running' } },
      on: {
        'session.receive': [
          { guard: 'interrupts', target: 'running', actions: 'waitFirst' },
          { guard: 'hasRoom', target: 'between', actions: 'wait' },
          { actions: 'refuseMessage' },
        ],
        'session.abort': { target: 'between', actions: 'abort' },
        'session.reset': { target: 'between', actions: 'askReset' },
        'session.kill': { target: 'between', actions: 'kill' },
        'subagent.ended': { target: 'between', actions: 'onSubagentEnded' },
        refused: { target: 'between', actions: 'onRefusal' },
      },
    },
    compacting: {
      description: 'A user requested a compaction; messages wait.',
      invoke: {
        id: 'compaction',
        src: 'compact',
        input: compactInput,
        onDone: { target: 'between', actions: 'onCompaction' },
        onError: { target: 'between', actions: 'onCompactionFailure' },
      },
      on: {
        'session.receive': [{ guard: 'hasRoom', actions: 'wait' }, { actions: 'refuseMessage' }],
        'session.abort': {
          guard: 'abortsAll',
          target: 'between',
          actions: ['cancelCompaction', 'abort'],
        },
        'session.reset': { target: 'between', actions: ['cancelCompaction', 'askReset'] },
        'session.close': { target: 'between', actions: ['cancelCompaction', 'askClose'] },
      },
    },
    running: {
      description: 'One run is active; new messages join it or wait.',
      entry: 'begin',
      initial: 'starting',
      on: {
        'session.receive': [
          { guard: 'interrupts', target: 'ending', actions: ['waitFirst', 'endInterrupted'] },
          { guard: 'hasRoom', actions: 'wait' },
          { actions: 'refuseMessage' },
        ],
        'session.abort': { guard: 'abortsTheRun', target: 'ending', actions: 'abort' },
        'session.reset': { target: 'ending', actions: 'askReset' },
        'session.close': { target: 'ending', actions: 'askClose' },
      },
      states: {
        starting: {
          description: 'Starts the run at once under a standing lease, or asks for admission.',
          always: [
            { guard: 'hasStanding', target: 'working', actions: 'beginStanding' },
            { target: 'admitting', actions: 'askAdmission' },
          ],
        },
        admitting: {
          description: 'Waits until the agent admits the run.',
          on: {
            'session.receive': {
              description:
                'Asks again without a slot: the agent that waits for this run may hold the slot that it needs.',
              guard: 'agentWaitsForRun',
              actions: ['wait', 'askAdmission'],
            },
            'agent.admitted': { guard: 'isOurRun', target: 'working', actions: 'admit' },
            'agent.refused': { guard: 'isOurRun', target: '#session.ending', actions: 'endFailed' },
            refused: { guard: 'admissionRefused', target: '#session.ending', actions: 'endFailed' },
          },
          after: {
            admissionPatience: { target: 'admitting', reenter: true, actions: 'askAdmission' },
          },
        },
        working: {
          description:
            'The agent loop: the model answers and tools run, until the answer is final or the time limit is reached.',
          after: { runTimeout: { target: '.over', actions: 'endLate' } },
          initial: 'deciding',
          states: {
            assembling: {
              description:
                'Builds the prompt without a model call: for a run that a limit ends before its first call, and after a failure to build it.',
              invoke: {
                id: 'prompt',
                src: 'assemble',
                input: assembleInput,
                onDone: { target: 'deciding', actions: 'onPrompt' },
                onError: { target: 'failed' },
              },
            },
            deciding: {
              description:
                'Before each model call: checks the limits, and adds messages and reports that have arrived.',
              always: [
                { guard: 'endsUnassembled', target: 'assembling' },
                { guard: 'isAtCeiling', target: 'over', actions: 'endAtCeiling' },
                { guard: 'hasSteeringOrReports', target: 'thinking', actions: 'steer' },
                { target: 'thinking' },
              ],
            },
            thinking: {
              description:
                'Calls the model with the visible part of the transcript. The first call builds the prompt from files, skills and hooks.',
              entry: 'beginCall',
              invoke: {
                id: 'model',
                src: 'callModel',
                input: modelInput,
                onDone: [
                  { guard: 'callFailed', target: 'failed', actions: 'onPrompt' },
                  { guard: 'wantsTools', target: 'acting', actions: ['onPrompt', 'onModelAnswer'] },
                  { target: 'over', actions: ['onPrompt', 'onModelAnswer', 'endOk'] },
                ],
                onError: { target: 'failed' },
              },
            },
            failed: {
              description:
                'The call or the prompt failed: asks for admission, shortens the conversation, retries, or ends.',
              always: [
                { guard: 'isRevoked', target: '#session.running.admitting', actions: 'onRevoked' },
                { guard: 'isTooLong', target: 'compacting' },
                { guard: 'mayPass', target: 'backingOff', actions: 'countAttempt' },
                { target: 'over', actions: 'endFailed' },
              ],
            },
            backingOff: {
              description:
                'A call failed with a retriable error; retries it after an increasing backoff.',
              after: {
                retryBackoff: [
                  { guard: 'isAssembled', target: 'deciding' },
                  { target: 'assembling' },
                ],
              },
            },
            compacting: {
              description:
                'The conversation is too long for the model: compacts it, then repeats the call.',
              entry: 'beginCompaction',
              invoke: {
                id: 'shortening',
                src: 'compact',
                input: compactInput,
                onDone: [
                  { guard: 'hasShortened', target: 'deciding', actions: 'shorten' },
                  { target: 'over', actions: 'giveUpCompaction' },
                ],
                onError: [
                  { guard: 'mayPass', target: 'backingOff', actions: 'countAttempt' },
                  { target: 'over', actions: 'failCompaction' },
                ],
              },
            },
            acting: {
              description: 'Runs the tool calls of one answer, batch by batch, in order.',
              initial: 'choosing',
              states: {
                choosing: {
                  description: 'Chooses the next calls; new messages are processed first.',
                  always: [
                    {
                      guard: 'isRepeatingCalls',
                      target: '#session.running.working.over',
                      actions: 'endAsRepeating',
                    },
                    { guard: 'skipsCalls', actions: 'skip' },
                    { guard: 'isRefusedCall', actions: 'refuseCall' },
                    { guard: 'needsApproval', target: 'asking' },
                    { guard: 'isOnce', target: 'runningOnce' },
                    { guard: 'isKeyed', target: 'runningKeyed' },
                    { guard: 'hasCalls', target: 'running' },
                    { target: '#session.running.working.deciding' },
                  ],
                },
                asking: {
                  description:
                    'The next call waits for approval; new messages are processed first.',
                  entry: 'askForDecision',
                  on: {
                    'session.receive': {
                      guard: 'interjects',
                      target: 'choosing',
                      actions: ['wait', 'withdrawQuestion'],
                    },
                    reply: [
                      { guard: 'isAllowed', target: 'choosing', actions: 'allow' },
                      { guard: 'isFromAsked', target: 'choosing', actions: 'deny' },
                    ],
                  },
                },
                running: {
                  description: 'Runs repeatable calls, in parallel where possible.',
                  invoke: {
                    id: 'tools',
                    src: 'callTools',
                    input: toolsInput,
                    onDone: { target: 'choosing', actions: 'onResults' },
                    onError: { target: 'choosing', actions: 'onFailure' },
                  },
                },
                runningKeyed: {
                  description: 'Runs calls whose receivers recognize a repeat by its key.',
                  invoke: {
                    id: 'keyed',
                    src: 'callKeyed',
                    input: toolsInput,
                    onDone: { target: 'choosing', actions: 'onResults' },
                    onError: { target: 'choosing', actions: 'onFailure' },
                  },
                },
                runningOnce: {
                  description: 'Runs a call that is never repeated, even after a crash.',
                  invoke: {
                    id: 'once',
                    src: 'callOnce',
                    input: toolsInput,
                    onDone: { target: 'choosing', actions: 'onResults' },
                    onError: { target: 'choosing', actions: 'onFailure' },
                  },
                },
              },
            },
            over: {
              description:
                'The outcome of the run is known; checks whether hooks must see the reply.',
              always: [
                { guard: 'hasReplyHooks', target: '#session.running.replying' },
                { target: '#session.ending' },
              ],
            },
          },
        },
        replying: {
          description: 'Hooks see the reply before it is sent; they may change or withhold it.',
          invoke: {
            id: 'reply',
            src: 'reply',
            input: replyInput,
            onDone: { target: '#session.ending', actions: 'onReply' },
            onError: { target: '#session.ending', actions: 'withholdReply' },
          },
        },
      },
    },
    ending: {
      description: 'Records the end of the run and notifies all that wait for it.',
      entry: 'end',
      always: { target: 'between' },
    },
    between: {
      description: 'Chooses the next step: a reset, collecting, the next run, or idle.',
      always: [
        { guard: 'hasEndHooksPending', target: 'parting' },
        { guard: 'closeAsked', target: 'closed' },
        { guard: 'resetAsked', actions: 'renew' },
        { guard: 'nextCollects', target: 'collecting' },
        { guard: 'hasWaiting', target: 'running' },
        { target: 'idle' },
      ],
    },
    parting: {
      description:
        'Calls the hooks for the end of the session before the next one starts; new messages wait.',
      invoke: {
        id: 'farewell',
        src: 'endSession',
        input: endSessionInput,
        onDone: { target: 'between', actions: 'clearEnded' },
        onError: { target: 'between', actions: 'clearEnded' },
      },
      on: {
        'session.receive': [
          { guard: 'closeAsked', actions: 'refuseClosing' },
          { guard: 'hasRoom', actions: 'wait' },
          { actions: 'refuseMessage' },
        ],
        'session.compact': { actions: 'answerNothing' },
        'session.inject': { actions: 'inject' },
        'session.reset': [
          { guard: 'closeAsked', actions: 'refuseClosing' },
          { actions: ['askReset', 'renew'] },
        ],
        'session.close': [
          { guard: 'closeAsked', actions: 'answerClosing' },
          { actions: 'askClose' },
        ],
      },
    },
    closed: {
      description: 'The session is deleted. A later message creates a new session.',
      type: 'final',
      entry: 'close',
    },
  },
});
