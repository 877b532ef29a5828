/**
 * Account: the connection of a messenger account, as its actor records it. Pure.
 *
 * Invariants: a position belongs to the identity at the service that it was received under, so a
 * token of another bot never inherits it; attempts are further apart each time, also when
 * connections are established and end at once.
 */
import {
  accountKey,
  type ConnectInput,
  type PositionRow,
  POSITIONS_INDEX,
} from '../../protocols/channel.ts';
import type { ActorInput } from '../../protocols/statechart.ts';
import type { HostAction } from '../kit/handlers.ts';
import { pauseMsOf } from '../kit/backoff.ts';
import { firstOf } from '../kit/text.ts';
import { type ActionArgs, type ActionResult, nowOf, on, outcomeOf } from './action-result.ts';
import type { ChannelContext } from './types.ts';

/** Pause before an attempt: up to the first one, doubled with every failure. */
const BACKOFF_MS = { first: 2_000, max: 300_000 };
/** A connection that lasted as long as this ends the series of failures. */
const LASTING_MS = 60_000;
const ERROR_CHARACTERS_MAX = 500;

export const initialContext = ({ self, tenant, key, now }: ActorInput): ChannelContext => {
  const [channel = key, account = ''] = key.split(':');
  return {
    self,
    tenant,
    channel,
    account,
    isEnabled: false,
    digest: '',
    state: 'stopped',
    since: now,
    failures: 0,
    connections: 0,
    waitMs: 0,
    identity: null,
    name: null,
    lastError: null,
    inbound: 0,
    outbound: 0,
    refused: {},
    lastInboundAt: 0,
    lastOutboundAt: 0,
    pairings: [],
    approved: [],
  };
};

export const connectInput = ({ context }: { context: ChannelContext }): ConnectInput => {
  const { tenant, channel, account } = context;
  return { tenant, channel, account };
};

// ---- settings

export const configure = on('channel.configure', ({ event }): ActionResult => {
  const { isEnabled, digest } = event;
  return { change: { isEnabled, digest } };
});
export const enables = on('channel.configure', ({ event }) => event.isEnabled);
export const disables = on('channel.configure', ({ event }) => !event.isEnabled);
export const changesSettings = on(
  'channel.configure',
  ({ context, event }) => event.isEnabled && event.digest !== context.digest,
);

// ---- states

const entered =
  (state: ChannelContext['state'], change: Partial<ChannelContext> = {}) =>
  ({ event }: ActionArgs): ActionResult => ({ change: { state, since: nowOf(event), ...change } });

export const enterStopped = entered('stopped', { failures: 0, lastError: null });
export const enterConnecting = entered('connecting');
export const enterBackoff = entered('backoff');
export const enterFailed = entered('failed');

/** A restart by an operator begins a new series of attempts. */
export const restart = on(
  'channel.restart',
  ({ event }): ActionResult => ({
    change: { failures: 0, lastError: null },
    send: [{ type: 'reply', params: { to: event.meta.reply, result: { restarted: true } } }],
  }),
);

export const refuseRestart = on('channel.restart', ({ context, event }): ActionResult => {
  const message = `${context.channel}:${context.account} is disabled, or not in the configuration`;
  const params = { to: event.meta.reply, error: { code: 'CONFLICT', message } as const };
  return { send: [{ type: 'reply', params }] };
});

export const onConnected = on('channel.connected', ({ context, event }): ActionResult => {
  const { identity, name = null, meta } = event;
  const isSame = identity === context.identity;
  return {
    send: isSame ? [] : [positionRow(context, { identity, position: null })],
    change: {
      state: 'connected',
      since: meta.now,
      connections: context.connections + 1,
      identity,
      name,
    },
  };
});

/** A position of another bot, from a connection that was replaced, is ignored. */
export const keepPosition = on('channel.position', ({ context, event }): ActionResult => {
  const { identity, position } = event;
  if (identity !== context.identity) return {};
  return { send: [positionRow(context, { identity, position })] };
});

const positionRow = (context: ChannelContext, value: PositionRow): HostAction => ({
  type: 'project',
  params: { index: POSITIONS_INDEX, key: accountKey(context), value },
});

// ---- the end of a connection

export const isFinal = (at: ActionArgs): boolean => outcomeOf(at).isFinal;

export const onEnd = (at: ActionArgs): ActionResult => {
  const { context, event } = at;
  const { error } = outcomeOf(at);
  const hasLasted = context.state === 'connected' && nowOf(event) - context.since >= LASTING_MS;
  const failures = hasLasted ? 1 : context.failures + 1;
  return {
    change: {
      failures,
      waitMs: pauseMsOf(BACKOFF_MS, failures, { seed: event.meta.id, error }),
      lastError: firstOf(error.message, ERROR_CHARACTERS_MAX),
    },
  };
};

export const waitMs = ({ context }: { context: ChannelContext }): number => context.waitMs;

// ---- counts

export const count = on('channel.observed', ({ context, event }): ActionResult => {
  const { inbound, outbound, refused, lastInboundAt = 0, lastOutboundAt = 0 } = event;
  const { lastError = context.lastError } = event;
  return {
    change: {
      inbound: context.inbound + inbound,
      outbound: context.outbound + outbound,
      refused: sumOf(context.refused, refused),
      lastInboundAt: Math.max(context.lastInboundAt, lastInboundAt),
      lastOutboundAt: Math.max(context.lastOutboundAt, lastOutboundAt),
      lastError,
    },
  };
});

const sumOf = (
  a: ChannelContext['refused'],
  b: ChannelContext['refused'],
): ChannelContext['refused'] => {
  const sum = { ...a };
  for (const [rule, times] of Object.entries(b) as [keyof typeof b, number][])
    sum[rule] = (sum[rule] ?? 0) + times;
  return sum;
};
