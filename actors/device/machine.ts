/**
 * Device: a program with an identity that people let in, and as a node the commands that it is
 * asked to carry out (GW3, ND1). Address: `deviceAddress`; row: index `devices`.
 *
 *  - `unknown`: it never asked.
 *  - `known.trust`: which roles it has, and whether a person is asked about more.
 *  - `known.surface`: whether a person is asked about the commands that it offers.
 *  - `known.link`: whether it is connected as a node.
 *  - `known.work`: commands on their way and items that wait, with one timer for the earliest.
 *  - `removed`, `forgotten`: the actor goes, with its row if it had one.
 *
 * The regions of `known` settle by what the context says; the deeds are in the files beside it:
 * pairing.ts, surface.ts, invocations.ts, waiting.ts.
 *
 * Invariants: nothing but a person lets in more than the first role; a command is handed to the
 * node only after its gateway took it here; who asked for one is answered exactly once.
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

/** The row where a reader sees a difference, then answers and notices. */
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
    refuseUnfit: does(pairing.refuseUnfit),
    greet: does(pairing.greet),
    letIn: does(pairing.letIn),
    question: does(pairing.question),
    approve: does(pairing.approve),
    reject: does(pairing.reject),
    refuseDecision: does(pairing.refuseDecision),
    expire: does(pairing.expire),
    leave: does(pairing.leave),
    remove: does(pairing.remove),
    refusePerson: does(forbidden),
    rename: does(pairing.rename),
    takeToken: does(pairing.takeToken),
    revoke: does(pairing.revoke),
    join: does(surface.join),
    refuseJoin: does(surface.refuseJoin),
    part: does(surface.part),
    tellOther: does(surface.tellOther),
    approveSurface: does(surface.approveSurface),
    rejectSurface: does(surface.rejectSurface),
    refuseSurface: does(surface.refuseSurface),
    begin: does(invocations.begin),
    joinAskers: does(invocations.join),
    tellAgain: does(invocations.tellAgain),
    take: does(invocations.take),
    takeResult: does(invocations.takeResult),
    sweep: does(work.sweep),
    loseGateway: does(work.loseGateway),
    enqueueItem: does(waiting.enqueue),
    drain: does(waiting.drain),
    ack: does(waiting.ack),
  },
  guards: {
    isFit: pairing.isValid,
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
    isGatewayGone: work.isGatewayGone,
    hasWork: work.hasWork,
  },
  delays: {
    pairingTime: pairing.pairingMs,
    strangerTime: pairing.strangerMs,
    untilDue: work.untilDueMs,
  },
}).createMachine({
  id: 'device',
  description: 'A program with an identity that people let in.',
  context: ({ input }) => pairing.initialContext(input),
  initial: 'unknown',
  options: { maxIterations: 100 },
  states: {
    unknown: {
      description: 'It never asked to be let in.',
      on: {
        'device.ask': [
          { guard: 'mayEnter', target: 'known', actions: 'letIn' },
          { guard: 'isFit', target: 'known', actions: 'question' },
          { target: 'forgotten', actions: 'refuseUnfit' },
        ],
        '*': { target: 'forgotten', actions: 'refuseUnknown' },
      },
    },
    known: {
      description: 'It asked at least once.',
      type: 'parallel',
      on: {
        'device.remove': [
          { guard: 'isByOperator', target: 'removed', actions: 'remove' },
          { actions: 'refusePerson' },
        ],
        'device.rename': { actions: 'rename' },
        'device.token': { actions: 'takeToken' },
        'device.revoke': { actions: 'revoke' },
      },
      states: {
        trust: {
          description: 'Which roles it has, and whether a person is asked about more.',
          initial: 'settling',
          on: {
            'device.ask': [
              { guard: 'isCovered', actions: 'greet' },
              { guard: 'mayEnter', target: '.settling', actions: 'letIn' },
              { guard: 'isFit', target: '.settling', actions: 'question' },
              { actions: 'refuseUnfit' },
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
              description: 'What it may, and what it asks for, is looked up.',
              always: [
                { guard: 'isTrustedAndAsking', target: 'askingMore' },
                { guard: 'isAsking', target: 'asking' },
                { guard: 'isTrusted', target: 'trusted' },
                { target: 'stranger' },
              ],
            },
            stranger: {
              description: 'Nobody let it in; it is forgotten unless it asks again.',
              after: { strangerTime: { target: '#device.removed', actions: 'leave' } },
            },
            asking: {
              description: 'A person is asked whether to let it in, until the time is up.',
              after: { pairingTime: { target: 'settling', actions: 'expire' } },
            },
            trusted: { description: 'It is let in, and asks for no more.' },
            askingMore: {
              description: 'It is let in, and a person is asked about another role or more scopes.',
              after: { pairingTime: { target: 'settling', actions: 'expire' } },
            },
          },
        },
        surface: {
          description: 'Whether a person is asked about the commands that it offers.',
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
              description: 'It was never connected as a node.',
              always: { guard: 'isSurfaceKnown', target: 'settled' },
            },
            settled: {
              description: 'All that it offers was decided on.',
              always: { guard: 'isSurfaceAsked', target: 'asking' },
            },
            asking: {
              description:
                'Commands of it wait for a person; those approved before work meanwhile.',
              always: { guard: not('isSurfaceAsked'), target: 'settled' },
            },
          },
        },
        link: {
          description: 'Whether it is connected as a node.',
          initial: 'away',
          on: {
            'device.online': [{ guard: 'mayJoin', actions: 'join' }, { actions: 'refuseJoin' }],
            'device.offline': [{ guard: 'isItsLink', actions: 'part' }, { actions: 'tellOther' }],
          },
          states: {
            away: {
              description: 'No connection of it is known.',
              always: { guard: 'isLinked', target: 'linked' },
            },
            linked: {
              description: 'Commands reach it through the gateway of its newest connection.',
              always: { guard: not('isLinked'), target: 'away' },
            },
          },
        },
        work: {
          description: 'Commands on their way, and items that wait for it.',
          initial: 'planning',
          on: {
            'device.invoke': [
              { guard: 'isPending', actions: 'joinAskers' },
              { guard: 'isEnded', actions: 'tellAgain' },
              { target: '.planning', actions: 'begin' },
            ],
            'device.taken': { target: '.planning', actions: 'take' },
            'device.result': { target: '.planning', actions: 'takeResult' },
            'device.online': '.planning',
            'device.offline': '.planning',
            'device.enqueue': { target: '.planning', actions: 'enqueueItem' },
            'device.drain': { actions: 'drain' },
            'device.ack': { target: '.planning', actions: 'ack' },
          },
          states: {
            planning: {
              description: 'What comes next is looked up.',
              always: [{ guard: 'hasWork', target: 'waiting' }, { target: 'idle' }],
            },
            idle: { description: 'Nothing has a time.' },
            waiting: {
              description: 'The earliest of all that has a time is waited for.',
              after: {
                untilDue: [
                  { guard: 'isGatewayGone', target: 'planning', actions: 'loseGateway' },
                  { target: 'planning', actions: 'sweep' },
                ],
              },
            },
          },
        },
      },
    },
    removed: {
      description: 'A person removed it, or nobody ever let it in.',
      entry: { type: 'project', params: row.unproject },
      type: 'final',
    },
    forgotten: { description: 'It never was a device.', type: 'final' },
  },
});
