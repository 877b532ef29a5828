/** Row: what lists show of an account. */
import { type ChannelRow, CHANNELS_INDEX, accountKey } from '../../protocols/channel.ts';
import { defined } from '../../protocols/defined.ts';
import type { Project } from '../../protocols/statechart.ts';
import type { ChannelContext } from './types.ts';

const iso = (at: number): string => new Date(at).toISOString();
const isoIf = (at: number): string | undefined => (at === 0 ? undefined : iso(at));

const rowOf = (context: ChannelContext): ChannelRow => {
  const { channel, account, state, since, identity, name, lastError, waitMs } = context;
  const { connections, inbound, outbound, refused, pairings, approved } = context;
  return {
    channel,
    account,
    state,
    since: iso(since),
    reconnects: Math.max(0, connections - 1),
    inbound,
    outbound,
    refused,
    pairings: pairings.length,
    approved: approved.length,
    ...defined({
      identity: identity ?? undefined,
      name: name ?? undefined,
      lastError: lastError ?? undefined,
      lastInboundAt: isoIf(context.lastInboundAt),
      lastOutboundAt: isoIf(context.lastOutboundAt),
      nextTryAt: state === 'backoff' ? iso(since + waitMs) : undefined,
    }),
  };
};

export const project = (context: ChannelContext): Project => ({
  index: CHANNELS_INDEX,
  key: accountKey(context),
  value: rowOf(context),
});
