/**
 * Channel: one account of a messenger. It holds the connection, an effect that runs in one process
 * of the cluster at a time, the position up to which messages are stored, and the approved senders.
 * Address: `channelAddress`; row: index `channels`. The chats of the account have actors of their
 * own (actors/chat).
 *
 * Invariants: a connection that ends is established again with growing pauses, unless the same
 * would happen again: then the account is `failed`, and its row says what to do. Only operators
 * approve senders.
 */
import { setup } from 'xstate';
import type { ConnectInput, ConnectOutput } from '../../protocols/channel.ts';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import { action } from '../kit/handlers.ts';
import * as account from './account.ts';
import type { ActionArgs, ActionResult } from './action-result.ts';
import * as pairing from './pairing.ts';
import * as row from './row.ts';
import type { ChannelContext, ChannelEvent } from './types.ts';

/** What the handler sends, then the row of the changed context. */
const does = (handler: (args: ActionArgs) => ActionResult) =>
  action(handler, ({ context }: ActionArgs, { change, send = [] }) => {
    if (!change) return { send };
    const project = row.project({ ...context, ...change });
    return { change, send: [...send, { type: 'project', params: project }] };
  });

/** Changes the context, and nothing that readers see. */
const keeps = (handler: (args: ActionArgs) => ActionResult) =>
  action(handler, (_: ActionArgs, result) => result);

export const channelMachine = setup({
  types: { context: {} as ChannelContext, events: {} as ChannelEvent, input: {} as ActorInput },
  actors: { connect: effect<ConnectOutput, ConnectInput>() },
  actions: {
    ...hostActions,
    configure: keeps(account.configure),
    enterStopped: does(account.enterStopped),
    enterConnecting: does(account.enterConnecting),
    enterBackoff: does(account.enterBackoff),
    enterFailed: does(account.enterFailed),
    restart: keeps(account.restart),
    refuseRestart: keeps(account.refuseRestart),
    onConnected: does(account.onConnected),
    keepPosition: keeps(account.keepPosition),
    onEnd: keeps(account.onEnd),
    count: does(account.count),
    requestPairing: does(pairing.request),
    approve: does(pairing.approve),
    reject: does(pairing.reject),
    revoke: does(pairing.revoke),
  },
  guards: {
    enables: account.enables,
    disables: account.disables,
    changesSettings: account.changesSettings,
    isFinal: account.isFinal,
  },
  delays: { backoff: account.waitMs },
}).createMachine({
  id: 'channel',
  description: 'One account of a messenger.',
  context: ({ input }) => account.initialContext(input),
  initial: 'stopped',
  options: { maxIterations: 100 },
  on: {
    'channel.position': { actions: 'keepPosition' },
    'channel.observed': { actions: 'count' },
    'channel.pair': { actions: 'requestPairing' },
    'channel.approve': { actions: 'approve' },
    'channel.reject': { actions: 'reject' },
    'channel.revoke': { actions: 'revoke' },
  },
  states: {
    stopped: {
      description: 'The account is disabled, or not in the configuration.',
      on: {
        'channel.configure': { guard: 'enables', target: 'online', actions: 'configure' },
        'channel.restart': { actions: 'refuseRestart' },
      },
    },
    online: {
      description: 'A connection is open or is being opened.',
      initial: 'connecting',
      invoke: {
        id: 'connect',
        src: 'connect',
        input: account.connectInput,
        onDone: [
          { guard: 'isFinal', target: 'failed', actions: 'onEnd' },
          { target: 'backoff', actions: 'onEnd' },
        ],
        onError: { target: 'backoff', actions: 'onEnd' },
      },
      on: {
        'channel.configure': [
          { guard: 'disables', target: 'stopped', actions: ['configure', 'enterStopped'] },
          { guard: 'changesSettings', target: 'online', reenter: true, actions: 'configure' },
        ],
        'channel.restart': { target: 'online', reenter: true, actions: 'restart' },
      },
      states: {
        connecting: {
          description: 'The service has not accepted the connection yet.',
          entry: 'enterConnecting',
          on: { 'channel.connected': { target: 'connected', actions: 'onConnected' } },
        },
        connected: {
          description: 'Messages arrive.',
          on: { 'channel.connected': { actions: 'onConnected' } },
        },
      },
    },
    backoff: {
      description: 'The connection ended; the next attempt follows after a pause.',
      entry: 'enterBackoff',
      after: { backoff: 'online' },
      on: {
        'channel.configure': [
          { guard: 'disables', target: 'stopped', actions: ['configure', 'enterStopped'] },
          { guard: 'changesSettings', target: 'online', actions: 'configure' },
        ],
        'channel.restart': { target: 'online', actions: 'restart' },
      },
    },
    failed: {
      description: 'The service refuses the account; an operator must change something.',
      entry: 'enterFailed',
      on: {
        'channel.configure': [
          { guard: 'disables', target: 'stopped', actions: ['configure', 'enterStopped'] },
          { guard: 'changesSettings', target: 'online', actions: 'configure' },
        ],
        'channel.restart': { target: 'online', actions: 'restart' },
      },
    },
  },
});
