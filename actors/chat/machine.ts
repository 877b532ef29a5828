/**
 * Chat: one conversation of a messenger account. It passes messages to a session, in order, and
 * sends the replies, one piece at a time. Address: `chatAddress`. The connection is held by the
 * account (actors/channel).
 *
 * The regions are independent: while a reply is sent, further messages are received. inbound.ts,
 * outbound.ts and live.ts have the handlers.
 *
 * Invariants: each message that was admitted reaches the session once, or its sender is answered;
 * each piece of a reply is sent once, or reported as unknown.
 */
import { setup } from 'xstate';
import type { SendOutcome } from '../../protocols/channel.ts';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import { action } from '../kit/handlers.ts';
import type { ActionArgs, ActionResult } from './action-result.ts';
import * as inbound from './inbound.ts';
import * as live from './live.ts';
import * as outbound from './outbound.ts';
import type {
  EditInput,
  FollowInput,
  FollowOutput,
  PrepareInput,
  PrepareOutput,
  ReportInput,
  SendInput,
  SendOutput,
} from '../../protocols/channel-effects.ts';
import type { ChatContext, ChatEvent } from './types.ts';

const does = (handler: (args: ActionArgs) => ActionResult) =>
  action(handler, (_: ActionArgs, result) => result);

export const chatMachine = setup({
  types: { context: {} as ChatContext, events: {} as ChatEvent, input: {} as ActorInput },
  actors: {
    prepare: effect<PrepareOutput, PrepareInput>(),
    send: effect<SendOutput, SendInput>(),
    reconcile: effect<SendOutcome, SendInput>(),
    follow: effect<FollowOutput, FollowInput>(),
    edit: effect<null, EditInput>(),
    report: effect<null, ReportInput>(),
  },
  actions: {
    ...hostActions,
    prepare: does(inbound.prepare),
    receive: does(inbound.receive),
    receivePrepared: does(inbound.receivePrepared),
    receiveUnprepared: does(inbound.receiveUnprepared),
    onAccepted: does(inbound.onAccepted),
    onRefused: does(inbound.onRefused),
    onRunEnded: does(inbound.onRunEnded),
    enqueue: does(outbound.enqueue),
    refuse: does(outbound.refuse),
    begin: does(outbound.begin),
    advance: does(outbound.advance),
    retryLater: does(outbound.retryLater),
    countCheck: does(outbound.countCheck),
    checkLater: does(outbound.checkLater),
    keepProof: does(outbound.keepProof),
    ignoreProof: does(outbound.ignoreProof),
    giveUp: does(outbound.giveUp),
    reportUnknown: does(outbound.reportUnknown),
    forgetEnded: does(outbound.forgetEnded),
    beginLive: does(live.begin),
    startPreview: does(live.startPreview),
    keepPreview: does(live.keepPreview),
  },
  guards: {
    needsPreparation: inbound.needsPreparation,
    isRefusal: inbound.isRefusal,
    hasRoom: outbound.hasRoom,
    hasDelivery: outbound.hasDelivery,
    mustRest: outbound.mustRest,
    hasEnded: outbound.hasEnded,
    isSent: outbound.isSent,
    isUnknown: outbound.isUnknown,
    isNotSent: outbound.isNotSent,
    isOfCurrent: outbound.isOfCurrent,
    mayRepeat: outbound.mayRepeat,
    mayCheckAgain: outbound.mayCheckAgain,
    hasRun: live.hasRun,
    isOver: live.isOver,
    mayPreview: live.mayPreview,
    hasPreview: live.hasPreview,
    isReplaced: live.isReplaced,
  },
  delays: { pause: outbound.waitMs, rest: outbound.untilRested },
}).createMachine({
  id: 'chat',
  description: 'One conversation of a messenger account.',
  context: ({ input }) => inbound.initialContext(input),
  type: 'parallel',
  options: { maxIterations: 100 },
  on: {
    'chat.deliver': [{ guard: 'hasRoom', actions: 'enqueue' }, { actions: 'refuse' }],
    'chat.outcome': [{ guard: 'isOfCurrent', actions: 'keepProof' }, { actions: 'ignoreProof' }],
    'run.ended': { actions: 'onRunEnded' },
    reply: [{ guard: 'isRefusal', actions: 'onRefused' }, { actions: 'onAccepted' }],
    refused: { actions: 'onRefused' },
  },
  states: {
    inbound: {
      description: 'Messages from the messenger to the session.',
      initial: 'ready',
      states: {
        ready: {
          description: 'The next message goes to the session.',
          on: {
            'chat.inbound': [
              { guard: 'needsPreparation', target: 'preparing', actions: 'prepare' },
              { actions: 'receive' },
            ],
          },
        },
        preparing: {
          description: 'Hooks run, and files are downloaded; later messages wait.',
          meta: { defer: ['chat.inbound'] },
          invoke: {
            id: 'prepare',
            src: 'prepare',
            input: inbound.prepareInput,
            onDone: { target: 'ready', actions: 'receivePrepared' },
            onError: { target: 'ready', actions: 'receiveUnprepared' },
          },
        },
      },
    },
    outbound: {
      description: 'Replies to the messenger.',
      initial: 'idle',
      states: {
        idle: {
          description: 'Nothing has to be sent, or the preview is being sent.',
          always: [
            { guard: 'hasEnded', target: 'reporting' },
            { guard: 'mustRest', target: 'resting' },
            { guard: 'hasDelivery', target: 'sending' },
          ],
        },
        resting: {
          description: 'The service takes one message at a time, at its pace.',
          after: { rest: 'idle' },
        },
        sending: {
          description: 'One piece is being sent.',
          entry: 'begin',
          invoke: {
            id: 'send',
            src: 'send',
            input: outbound.sendInput,
            onDone: [
              { guard: 'isSent', target: 'idle', actions: 'advance' },
              { guard: 'isUnknown', target: 'reconciling' },
              { guard: 'mayRepeat', target: 'waiting', actions: 'retryLater' },
              { target: 'idle', actions: 'giveUp' },
            ],
            onError: { target: 'reconciling' },
          },
        },
        waiting: {
          description: 'The service did not accept the piece; the next attempt follows.',
          after: { pause: 'sending' },
          on: {
            'chat.outcome': { guard: 'isOfCurrent', target: 'reconciling', actions: 'keepProof' },
          },
        },
        reconciling: {
          description: 'The service may have accepted the piece: it is asked.',
          entry: 'countCheck',
          invoke: {
            id: 'reconcile',
            src: 'reconcile',
            input: outbound.sendInput,
            onDone: [
              { guard: 'isSent', target: 'idle', actions: 'advance' },
              { guard: 'mayRepeat', target: 'waiting', actions: 'retryLater' },
              { guard: 'isNotSent', target: 'idle', actions: 'giveUp' },
              { guard: 'mayCheckAgain', target: 'checkingLater', actions: 'checkLater' },
              { target: 'idle', actions: 'reportUnknown' },
            ],
            onError: [
              { guard: 'mayCheckAgain', target: 'checkingLater', actions: 'checkLater' },
              { target: 'idle', actions: 'reportUnknown' },
            ],
          },
        },
        reporting: {
          description: 'Hooks learn the outcome of the delivery that has ended.',
          invoke: {
            id: 'report',
            src: 'report',
            input: outbound.reportInput,
            onDone: { target: 'idle', actions: 'forgetEnded' },
            onError: { target: 'idle', actions: 'forgetEnded' },
          },
        },
        checkingLater: {
          description: 'The service could not say yet whether it has the piece.',
          after: { pause: 'reconciling' },
          on: {
            'chat.outcome': { guard: 'isOfCurrent', target: 'reconciling', actions: 'keepProof' },
          },
        },
      },
    },
    live: {
      description: 'What the chat shows while a run is active.',
      initial: 'idle',
      states: {
        idle: {
          description: 'No run is active.',
          always: { guard: 'hasRun', target: 'following' },
        },
        following: {
          description: 'The account shows that it types, until there is text.',
          entry: 'beginLive',
          always: { guard: 'isOver', target: 'idle' },
          invoke: {
            id: 'follow',
            src: 'follow',
            input: live.followInput,
            onDone: [{ guard: 'mayPreview', target: 'previewing' }, { target: 'quiet' }],
            onError: { target: 'quiet' },
          },
        },
        previewing: {
          description: 'The beginning of the answer is being sent.',
          entry: 'startPreview',
          invoke: {
            id: 'preview',
            src: 'send',
            input: live.previewInput,
            onDone: { target: 'previewed', actions: 'keepPreview' },
            onError: { target: 'quiet', actions: 'keepPreview' },
          },
        },
        previewed: {
          description: 'Chooses the next state.',
          always: [
            { guard: 'isOver', target: 'idle' },
            { guard: 'hasPreview', target: 'editing' },
            { target: 'quiet' },
          ],
        },
        editing: {
          description:
            'The account shows that it types, and edits the preview while the model writes.',
          always: [
            { guard: 'isOver', target: 'idle' },
            { guard: 'isReplaced', target: 'following' },
          ],
          invoke: {
            id: 'edit',
            src: 'edit',
            input: live.editInput,
            onDone: { target: 'quiet' },
            onError: { target: 'quiet' },
          },
        },
        quiet: {
          description: 'The run is active; nothing more is shown.',
          always: { guard: 'isOver', target: 'idle' },
        },
      },
    },
  },
});
