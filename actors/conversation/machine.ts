/**
 * Conversation: one message from an agent's session to another, its answer, up to five replies in
 * turn, and what the people of the target are told (AA3, AA4). Address: `conversationAddress`; row:
 * index `conversations`.
 *
 *  - `unknown`: nobody began it.
 *  - `asking`: the target's first answer is waited for; `sent`: nobody knows yet whether its
 *    session has the message; `delivered`: it has.
 *  - `between`: what comes next: a reply, the announcement, or the end.
 *  - `replying`: requester and target in turn, the requester first; each reads what the other said.
 *  - `announcing`: the target says to its people what came of it.
 *  - `ended`: remembered for 28 hours, as long as the runs that it is made of.
 *  - `removed`, `forgotten`: the actor goes, with its row if it had one.
 *
 * Invariants: no turn is asked twice; at most turns + 2 runs are begun; the requester's session is
 * answered exactly once, before `asking` is left; an end or a refusal that is not of the awaited
 * turn changes nothing; every state that waits has a durable bound.
 */
import { setup } from 'xstate';
import { type ActorInput, hostActions } from '../../protocols/statechart.ts';
import { action, type HostAction } from '../kit/handlers.ts';
import * as caller from './caller.ts';
import type { ActionArgs, ActionResult } from './action-result.ts';
import * as exchange from './exchange.ts';
import * as row from './row.ts';
import type { ConversationContext, ConversationEvent } from './types.ts';

/** What a session is given for one run, whatever waits in front of it. */
const TURN_MS = 24 * 3_600_000;
const RETENTION_MS = 28 * 3_600_000;

/** The messages, then the row of the changed context. */
const does = (handler: (args: ActionArgs) => ActionResult) =>
  action(handler, ({ context }: ActionArgs, { change, tells = [] }) => {
    const sent = tells.map((tell): HostAction => ({ type: 'tell', params: tell }));
    if (!change) return { send: sent };
    const project = row.row({ ...context, ...change });
    return { change, send: [...sent, { type: 'project', params: project }] };
  });

export const conversationMachine = setup({
  types: {
    context: {} as ConversationContext,
    events: {} as ConversationEvent,
    input: {} as ActorInput,
  },
  actions: {
    ...hostActions,
    begin: does(exchange.begin),
    deliver: does(exchange.deliver),
    takeEnd: does(exchange.takeEnd),
    takeRefusal: does(exchange.takeRefusal),
    askReply: does(exchange.askReply),
    askAnnouncement: does(exchange.askAnnouncement),
    takeAnnouncement: does(exchange.takeAnnouncement),
    lose: does(exchange.lose),
    stop: does(exchange.stop),
    conclude: does(exchange.conclude),
    release: does(caller.release),
    tellDelivered: does(caller.tellDelivered),
    tellReply: does(caller.tellReply),
    tellRefused: does(caller.tellRefused),
    tellLate: does(caller.tellLate),
    tellEnded: does(caller.tellEnded),
  },
  guards: {
    isAwaited: exchange.isAwaited,
    isAcceptance: exchange.isAcceptance,
    isRefusal: exchange.isRefusal,
    requesterIsNext: exchange.requesterIsNext,
    targetIsNext: exchange.targetIsNext,
    hasToAnnounce: exchange.hasToAnnounce,
    isByOperator: row.isByOperator,
  },
  delays: {
    patience: ({ context }) => caller.patienceMs(context),
    turnTime: TURN_MS,
    retention: RETENTION_MS,
  },
}).createMachine({
  id: 'conversation',
  description: 'One message between agents and the replies to it.',
  context: ({ input }) => exchange.initialContext(input),
  initial: 'unknown',
  options: { maxIterations: 100 },
  states: {
    unknown: {
      description: 'The conversation was not started.',
      on: {
        'conversation.begin': { target: 'asking', actions: 'begin' },
        'conversation.end': {
          target: 'forgotten',
          actions: { type: 'reply', params: row.unknown },
        },
      },
    },
    asking: {
      description: 'Waits for the first answer of the target.',
      initial: 'sent',
      after: {
        patience: { actions: 'tellLate' },
        turnTime: { target: 'ended', actions: ['lose', 'tellLate'] },
      },
      on: {
        'run.ended': {
          guard: 'isAwaited',
          target: 'between',
          actions: ['takeEnd', 'tellReply'],
        },
        'conversation.unwait': { actions: 'release' },
        'conversation.end': [
          {
            guard: 'isByOperator',
            target: 'ended',
            actions: ['stop', 'tellEnded', { type: 'reply', params: row.tellStopped }],
          },
          { actions: { type: 'reply', params: row.forbidden } },
        ],
      },
      states: {
        sent: {
          description: 'The message was sent; the session of the target has not confirmed it.',
          on: {
            reply: [
              {
                guard: 'isAcceptance',
                target: 'delivered',
                actions: ['deliver', 'tellDelivered'],
              },
              {
                guard: 'isRefusal',
                target: '#conversation.ended',
                actions: ['takeRefusal', 'tellRefused'],
              },
            ],
          },
        },
        delivered: { description: 'The session of the target has the message and will answer it.' },
      },
    },
    between: {
      description: 'Chooses the next step: a reply, the announcement, or the end.',
      always: [
        { guard: 'requesterIsNext', target: 'replying.requesterTurn' },
        { guard: 'targetIsNext', target: 'replying.targetTurn' },
        { guard: 'hasToAnnounce', target: 'announcing' },
        { target: 'ended' },
      ],
    },
    replying: {
      description:
        'Requester and target reply in turn; each receives the last message of the other.',
      initial: 'requesterTurn',
      on: {
        'run.ended': { guard: 'isAwaited', target: 'between', actions: 'takeEnd' },
        reply: { guard: 'isRefusal', target: 'between', actions: 'takeRefusal' },
        'conversation.end': [
          {
            guard: 'isByOperator',
            target: 'ended',
            actions: ['stop', { type: 'reply', params: row.tellStopped }],
          },
          { actions: { type: 'reply', params: row.forbidden } },
        ],
      },
      states: {
        requesterTurn: {
          description: 'The requester replies to the last message of the target.',
          entry: 'askReply',
          after: { turnTime: { target: '#conversation.ended', actions: 'lose' } },
        },
        targetTurn: {
          description: 'The target replies to the last message of the requester.',
          entry: 'askReply',
          after: { turnTime: { target: '#conversation.ended', actions: 'lose' } },
        },
      },
    },
    announcing: {
      description: 'The target reports the result to its users, or stays silent.',
      entry: 'askAnnouncement',
      after: { turnTime: { target: 'ended', actions: 'lose' } },
      on: {
        'run.ended': { guard: 'isAwaited', target: 'ended', actions: 'takeAnnouncement' },
        reply: { guard: 'isRefusal', target: 'ended', actions: 'takeRefusal' },
        'conversation.end': [
          {
            guard: 'isByOperator',
            target: 'ended',
            actions: ['stop', { type: 'reply', params: row.tellStopped }],
          },
          { actions: { type: 'reply', params: row.forbidden } },
        ],
      },
    },
    ended: {
      description: 'The exchange has ended; its row is kept.',
      entry: 'conclude',
      after: { retention: 'removed' },
      on: { 'conversation.end': { actions: { type: 'reply', params: row.tellOver } } },
    },
    removed: {
      description: 'The retention time is over.',
      entry: { type: 'project', params: row.noRow },
      type: 'final',
    },
    forgotten: { description: 'The conversation never existed.', type: 'final' },
  },
});
