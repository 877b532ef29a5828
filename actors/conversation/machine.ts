/**
 * Conversation: one message from an agent's session to another session, the first answer, up to
 * five replies in turn, and the announcement of the result to the users of the target. Address:
 * `conversationAddress`; row: index `conversations`.
 *
 * Invariants: each turn is requested once; at most turns + 2 runs are started; the session of the
 * requester is answered exactly once, before the chart leaves `asking`; a run end or a refusal that
 * does not belong to the awaited turn changes nothing; every waiting state has a durable time
 * limit.
 */
import { setup } from 'xstate';
import { type ActorInput, hostActions } from '../../protocols/statechart.ts';
import { action, type HostAction } from '../kit/handlers.ts';
import * as caller from './caller.ts';
import type { ActionArgs, ActionResult } from './action-result.ts';
import * as exchange from './exchange.ts';
import * as row from './row.ts';
import type { ConversationContext, ConversationEvent } from './types.ts';

/** Time limit of one run, including its time in the session's queue. */
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
    onRunEnded: does(exchange.onRunEnded),
    onRefusal: does(exchange.onRefusal),
    askReply: does(exchange.askReply),
    askAnnouncement: does(exchange.askAnnouncement),
    onAnnouncement: does(exchange.onAnnouncement),
    lose: does(exchange.lose),
    stop: does(exchange.stop),
    conclude: does(exchange.conclude),
    release: does(caller.release),
    sendDelivered: does(caller.sendDelivered),
    sendReply: does(caller.sendReply),
    sendRefused: does(caller.sendRefused),
    sendLate: does(caller.sendLate),
    sendEnded: does(caller.sendEnded),
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
        patience: { actions: 'sendLate' },
        turnTime: { target: 'ended', actions: ['lose', 'sendLate'] },
      },
      on: {
        'run.ended': {
          guard: 'isAwaited',
          target: 'between',
          actions: ['onRunEnded', 'sendReply'],
        },
        'conversation.unwait': { actions: 'release' },
        'conversation.end': [
          {
            guard: 'isByOperator',
            target: 'ended',
            actions: ['stop', 'sendEnded', { type: 'reply', params: row.replyStopped }],
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
                actions: ['deliver', 'sendDelivered'],
              },
              {
                guard: 'isRefusal',
                target: '#conversation.ended',
                actions: ['onRefusal', 'sendRefused'],
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
        'run.ended': { guard: 'isAwaited', target: 'between', actions: 'onRunEnded' },
        reply: { guard: 'isRefusal', target: 'between', actions: 'onRefusal' },
        'conversation.end': [
          {
            guard: 'isByOperator',
            target: 'ended',
            actions: ['stop', { type: 'reply', params: row.replyStopped }],
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
        'run.ended': { guard: 'isAwaited', target: 'ended', actions: 'onAnnouncement' },
        reply: { guard: 'isRefusal', target: 'ended', actions: 'onRefusal' },
        'conversation.end': [
          {
            guard: 'isByOperator',
            target: 'ended',
            actions: ['stop', { type: 'reply', params: row.replyStopped }],
          },
          { actions: { type: 'reply', params: row.forbidden } },
        ],
      },
    },
    ended: {
      description: 'The exchange has ended; its row is kept.',
      entry: 'conclude',
      after: { retention: 'removed' },
      on: { 'conversation.end': { actions: { type: 'reply', params: row.replyOver } } },
    },
    removed: {
      description: 'The retention time is over.',
      entry: { type: 'project', params: row.noRow },
      type: 'final',
    },
    forgotten: { description: 'The conversation never existed.', type: 'final' },
  },
});
