/**
 * Device: a program with its own identity, which users approve, and the commands that a device
 * executes as a node. Address: `deviceAddress`; row: index `devices`.
 *
 * The regions of `known` derive their state from the context. The handlers are in pairing.ts,
 * surface.ts, invocations.ts, waiting.ts and work.ts.
 *
 * Invariants: only a user approves more than the first role; the node receives a command only after
 * its gateway has accepted the command from this actor; each caller of a command is answered
 * exactly once.
 */
import { not, setup } from 'xstate';
import { type ActorInput, hostActions } from '../../protocols/statechart.ts';
import { action, type HostAction } from '../kit/handlers.ts';
import { type ActionArgs, type ActionResult, forbidden, isByOperator } from './action-result.ts';
import * as invocations from './invocations.ts';
import * as pairing from './pairing.ts';
import * as row from './row.ts';
import * as surface from './surface.ts';
import type { DeviceContext, DeviceEvent } from './types.ts';
import * as waiting from './waiting.ts';
import * as work from './work.ts';

/** Projects the row if a reader would see a difference, then sends answers and notices. */
const does = (handler: (args: ActionArgs) => ActionResult) =>
  action(handler, ({ context }: ActionArgs, { change, answers = [], notices = [] }) => {
    const after = { ...context, ...change };
    const rows = row.isSeen(context, after) ? [row.project(after)] : [];
    const send: readonly HostAction[] = [
      ...rows.map((params) => ({ type: 'project', params }) as const),
      ...answers.map((params) => ({ type: 'reply', params }) as const),
      ...notices.map(
        (notice) => ({ type: 'publish', params: row.published(context, notice) }) as const,
      ),
    ];
    return { ...(change ? { change } : {}), send };
  });

export const deviceMachine = setup({
  types: { context: {} as DeviceContext, events: {} as DeviceEvent, input: {} as ActorInput },
  actions: {
    ...hostActions,
    refuseUnknown: does(pairing.refuseUnknown),
    refuseInvalid: does(pairing.refuseInvalid),
    greet: does(pairing.greet),
    letIn: does(pairing.letIn),
    question: does(pairing.question),
    approve: does(pairing.approve),
    reject: does(pairing.reject),
    refuseDecision: does(pairing.refuseDecision),
    expire: does(pairing.expire),
    leave: does(pairing.leave),
    remove: does(pairing.remove),
    refuseForbidden: does(forbidden),
    rename: does(pairing.rename),
    onToken: does(pairing.onToken),
    revoke: does(pairing.revoke),
    join: does(surface.join),
    refuseJoin: does(surface.refuseJoin),
    part: does(surface.part),
    replyOtherLink: does(surface.replyOtherLink),
    approveSurface: does(surface.approveSurface),
    rejectSurface: does(surface.rejectSurface),
    refuseSurface: does(surface.refuseSurface),
    begin: does(invocations.begin),
    joinAskers: does(invocations.join),
    replyAgain: does(invocations.replyAgain),
    take: does(invocations.take),
    onResult: does(invocations.onResult),
    sweep: does(work.sweep),
    loseGateway: does(work.loseGateway),
    enqueueItem: does(waiting.enqueue),
    drain: does(waiting.drain),
    ack: does(waiting.ack),
  },
  guards: {
    isValid: pairing.isValid,
    isCovered: pairing.isCovered,
    mayEnter: pairing.mayEnter,
    isTrusted: ({ context }) => pairing.isTrusted(context),
    isAsking: ({ context }) => pairing.isAsking(context),
    isTrustedAndAsking: ({ context }) => pairing.isTrusted(context) && pairing.isAsking(context),
    decidesRequest: pairing.decidesRequest,
    isByOperator,
    mayJoin: surface.mayJoin,
    isLinked: ({ context }) => (context.node?.link ?? null) !== null,
    isItsLink: surface.isItsLink,
    isSurfaceKnown: surface.isSurfaceKnown,
    isSurfaceAsked: surface.isSurfaceAsked,
    decidesSurface: surface.decidesSurface,
    isPending: invocations.isPending,
    isEnded: invocations.isEnded,
    isGatewayLost: work.isGatewayLost,
    hasWork: work.hasWork,
  },
  delays: {
    pairingTime: pairing.pairingMs,
    strangerTime: pairing.strangerMs,
    untilDue: work.untilDueMs,
  },
}).createMachine({
  id: 'device',
  description: 'A program with its own identity, which users approve.',
  context: ({ input }) => pairing.initialContext(input),
  initial: 'unknown',
  options: { maxIterations: 100 },
  states: {
    unknown: {
      description: 'The device never asked to be paired.',
      on: {
        'device.ask': [
          { guard: 'mayEnter', target: 'known', actions: 'letIn' },
          { guard: 'isValid', target: 'known', actions: 'question' },
          { target: 'forgotten', actions: 'refuseInvalid' },
        ],
        '*': { target: 'forgotten', actions: 'refuseUnknown' },
      },
    },
    known: {
      description: 'The device has asked to be paired at least once.',
      type: 'parallel',
      on: {
        'device.remove': [
          { guard: 'isByOperator', target: 'removed', actions: 'remove' },
          { actions: 'refuseForbidden' },
        ],
        'device.rename': { actions: 'rename' },
        'device.token': { actions: 'onToken' },
        'device.revoke': { actions: 'revoke' },
      },
      states: {
        trust: {
          description:
            'The roles of the device, and whether a request for more waits for approval.',
          initial: 'settling',
          on: {
            'device.ask': [
              { guard: 'isCovered', actions: 'greet' },
              { guard: 'mayEnter', target: '.settling', actions: 'letIn' },
              { guard: 'isValid', target: '.settling', actions: 'question' },
              { actions: 'refuseInvalid' },
            ],
            'device.approve': [
              { guard: 'decidesRequest', target: '.settling', actions: 'approve' },
              { actions: 'refuseDecision' },
            ],
            'device.reject': [
              { guard: 'decidesRequest', target: '.settling', actions: 'reject' },
              { actions: 'refuseDecision' },
            ],
          },
          states: {
            settling: {
              description: 'Checks the roles that the device has and those that it requests.',
              always: [
                { guard: 'isTrustedAndAsking', target: 'askingMore' },
                { guard: 'isAsking', target: 'asking' },
                { guard: 'isTrusted', target: 'trusted' },
                { target: 'stranger' },
              ],
            },
            stranger: {
              description: 'No role is approved; the device is removed unless it asks again.',
              after: { strangerTime: { target: '#device.removed', actions: 'leave' } },
            },
            asking: {
              description: 'A pairing request waits for approval, until its deadline.',
              after: { pairingTime: { target: 'settling', actions: 'expire' } },
            },
            trusted: { description: 'The device is approved and requests nothing more.' },
            askingMore: {
              description:
                'The device is approved; a request for another role or more scopes waits for approval.',
              after: { pairingTime: { target: 'settling', actions: 'expire' } },
            },
          },
        },
        surface: {
          description: 'Whether commands that the node offers wait for approval.',
          initial: 'none',
          on: {
            'device.surface.approve': [
              { guard: 'decidesSurface', actions: 'approveSurface' },
              { actions: 'refuseSurface' },
            ],
            'device.surface.reject': [
              { guard: 'decidesSurface', actions: 'rejectSurface' },
              { actions: 'refuseSurface' },
            ],
          },
          states: {
            none: {
              description: 'The device was never connected as a node.',
              always: { guard: 'isSurfaceKnown', target: 'settled' },
            },
            settled: {
              description: 'Every command that the node offers is decided.',
              always: { guard: 'isSurfaceAsked', target: 'asking' },
            },
            asking: {
              description: 'New commands wait for approval; approved commands stay available.',
              always: { guard: not('isSurfaceAsked'), target: 'settled' },
            },
          },
        },
        link: {
          description: 'Whether the device is connected as a node.',
          initial: 'away',
          on: {
            'device.online': [{ guard: 'mayJoin', actions: 'join' }, { actions: 'refuseJoin' }],
            'device.offline': [
              { guard: 'isItsLink', actions: 'part' },
              { actions: 'replyOtherLink' },
            ],
          },
          states: {
            away: {
              description: 'The node has no connection.',
              always: { guard: 'isLinked', target: 'linked' },
            },
            linked: {
              description: 'The gateway of the newest connection delivers commands to the node.',
              always: { guard: not('isLinked'), target: 'away' },
            },
          },
        },
        work: {
          description: 'Pending commands, and items that wait for the node.',
          initial: 'planning',
          on: {
            'device.invoke': [
              { guard: 'isPending', actions: 'joinAskers' },
              { guard: 'isEnded', actions: 'replyAgain' },
              { target: '.planning', actions: 'begin' },
            ],
            'device.taken': { target: '.planning', actions: 'take' },
            'device.result': { target: '.planning', actions: 'onResult' },
            'device.online': '.planning',
            'device.offline': '.planning',
            'device.enqueue': { target: '.planning', actions: 'enqueueItem' },
            'device.drain': { actions: 'drain' },
            'device.ack': { target: '.planning', actions: 'ack' },
          },
          states: {
            planning: {
              description: 'Computes the next deadline.',
              always: [{ guard: 'hasWork', target: 'waiting' }, { target: 'idle' }],
            },
            idle: { description: 'Nothing has a deadline.' },
            waiting: {
              description: 'Waits for the earliest deadline.',
              after: {
                untilDue: [
                  { guard: 'isGatewayLost', target: 'planning', actions: 'loseGateway' },
                  { target: 'planning', actions: 'sweep' },
                ],
              },
            },
          },
        },
      },
    },
    removed: {
      description: 'A user removed the device, or it was never approved.',
      entry: { type: 'project', params: row.unproject },
      type: 'final',
    },
    forgotten: { description: 'The device never existed.', type: 'final' },
  },
});
