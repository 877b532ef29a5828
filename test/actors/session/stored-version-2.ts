/**
 * A session as the program stored it before agents could send messages, in the middle of a run: a
 * call runs, and a message waits. The original text; never regenerate it.
 */
import type { MachineRow } from '../../../runtime/statechart/host.ts';

export const STORED_BEFORE_TALK = {
  seq: 5,
  snap: {
    s: 'active',
    v: {
      running: {
        working: {
          acting: 'running',
        },
      },
    },
    c: {
      self: 'default/session/agent:main:main',
      tenant: 'default',
      sessionKey: 'agent:main:main',
      agentId: 'main',
      sessionId: 'm1002',
      createdAt: 1000,
      updatedAt: 1006,
      length: 2,
      contextFrom: 1,
      digest: 'd',
      isFresh: false,
      settings: {
        agentId: 'main',
        timeoutMs: 100000,
        runsMax: 1,
        tokensPerDay: 0,
      },
      own: {},
      queue: [
        {
          runId: 'r2',
          text: 'and b',
          mode: 'followup',
          acceptedAt: 1006,
        },
      ],
      folded: [],
      run: {
        startedAt: 1002,
        status: 'running',
        entries: 2,
        compactions: 0,
        calls: 1,
        attempt: 0,
        usage: {
          inputTokens: 3,
          outputTokens: 2,
        },
        isAssembled: true,
        replyHooks: false,
        planned: [
          {
            id: 'a',
            name: 'look',
            args: {
              at: 'a',
            },
            class: 'repeatable',
            parallel: true,
            confinement: {
              sandboxed: true,
              workspaceAccess: 'rw',
            },
          },
        ],
        tools: [],
        sent: [],
        runId: 'r1',
        text: '',
        acceptedAt: 1002,
        joined: [],
        lease: 200000,
        answer: '',
        usedModel: 'offline/echo',
        stop: 'tools',
      },
      compaction: null,
      reset: null,
      usage: {
        inputTokens: 3,
        outputTokens: 2,
      },
      lastMessage: 'look at a',
    },
  },
  jobs: {
    tools: {
      src: 'callTools',
      key: '4.3',
    },
  },
  timers: {
    'xstate.after.runTimeout.session.running.working': {
      due: 101003,
      key: '2.2',
      event: {
        type: 'xstate.after.runTimeout.session.running.working',
      },
    },
  },
} as unknown as MachineRow;
