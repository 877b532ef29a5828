/** The events that an account can receive, and the invariants that hold on every path. */
import { channelMachine } from '../../../actors/channel/machine.ts';
import type { ChannelContext } from '../../../actors/channel/types.ts';
import {
  APPROVED_INDEX,
  channelAddress,
  type ChannelRow,
  CHANNELS_INDEX,
  type PositionRow,
  POSITIONS_INDEX,
  PAIRINGS_PENDING_MAX,
} from '../../../protocols/channel.ts';
import type { Project, Reply, Tell } from '../../../protocols/statechart.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

const ACCOUNT = { channel: 'telegram', account: 'main' };
const OPERATOR = { sub: 'ada', roles: ['operator'] };

class Seen {
  row: ChannelRow | undefined;
  approved = new Set<string>();
  position: PositionRow | null = null;

  copy(): Seen {
    return Object.assign(new Seen(), this, { approved: new Set(this.approved) });
  }

  take({ step, name }: Happened): void {
    const { live, requests } = step;
    for (const { index, key, value } of requestsOf<Project>(requests, 'project')) {
      if (index === CHANNELS_INDEX) this.row = value as ChannelRow;
      if (index !== APPROVED_INDEX) continue;
      demand(name, 'only operators approve and revoke').toMatch(/^(approve|revoke) /);
      if (value === null) this.approved.delete(key);
      else this.approved.add(key);
    }
    const context = live.snapshot.context as ChannelContext;
    if (this.row) demand(this.row.state, 'the row shows the state').toBe(context.state);
    demand(Object.keys(live.jobs).length, 'one connection at most').toBeLessThanOrEqual(1);
    const isOnline = ['connecting', 'connected'].includes(context.state);
    demand(Object.keys(live.jobs)).toEqual(isOnline ? ['connect'] : []);
    demand(context.pairings.length).toBeLessThanOrEqual(PAIRINGS_PENDING_MAX);
    demand(context.approved.length).toBe(this.approved.size);
    for (const { event } of requestsOf<Tell>(requests, 'tell'))
      demand(`${name} ${event.type}`, 'only new requests are answered').toMatch(
        /^pair .* chat.deliver$/,
      );
    this.#checkPosition(step);
    for (const { error } of requestsOf<Reply>(requests, 'reply'))
      if (name.endsWith(' by an actor')) demand(error?.code).toBe('FORBIDDEN');
  }

  /** A position is stored under the identity that it was received with only. */
  #checkPosition({ live, requests }: Happened['step']): void {
    const { identity } = live.snapshot.context as ChannelContext;
    for (const { index, value } of requestsOf<Project>(requests, 'project'))
      if (index === POSITIONS_INDEX) this.position = value as PositionRow;
    if (!this.position) return;
    demand(this.position.identity).toBe(identity);
    const stored = this.position.position as { of: string } | null;
    if (stored) demand(stored.of).toBe(identity);
  }
}

const configure = (isEnabled: boolean, digest: string): Move => ({
  name: `configure ${isEnabled} ${digest}`,
  tell: true,
  event: { type: 'channel.configure', isEnabled, digest },
});
const connected = (identity: string): Move => ({
  name: `connected ${identity}`,
  tell: true,
  event: { type: 'channel.connected', identity, name: `@${identity}` },
});
const position = (identity: string): Move => ({
  name: `position ${identity}`,
  tell: true,
  event: { type: 'channel.position', identity, position: { of: identity } },
});
const pair = (sender: string, code: string): Move => ({
  name: `pair ${sender}`,
  tell: true,
  event: {
    type: 'channel.pair',
    code,
    sender: { id: sender },
    chat: { kind: 'dm', id: sender },
  },
});
const decide = (type: string, fields: object, isOperator = true): Move => ({
  name: `${type} ${Object.values(fields)[0]}${isOperator ? '' : ' by an actor'}`,
  event: { type: `channel.${type}`, ...fields },
  ...(isOperator && { principal: OPERATOR }),
});
const error = { code: 'UNAVAILABLE', message: 'closed' } as const;

export const exploration: Exploration = {
  machine: channelMachine,
  self: channelAddress('default', ACCOUNT),
  moves: () => [
    configure(true, 'a'),
    configure(true, 'b'),
    configure(false, 'a'),
    connected('bot1'),
    connected('bot2'),
    position('bot1'),
    position('bot2'),
    {
      name: 'observed',
      tell: true,
      event: {
        type: 'channel.observed',
        inbound: 2,
        outbound: 1,
        refused: { 'dm.pairing': 1 },
        lastInboundAt: 5,
      },
    },
    { name: 'restart', event: { type: 'channel.restart' }, principal: OPERATOR },
    pair('bob', 'AAAA2222'),
    pair('eve', 'BBBB3333'),
    decide('approve', { code: 'AAAA2222' }),
    decide('approve', { code: 'AAAA2222' }, false),
    decide('reject', { code: 'BBBB3333' }),
    decide('revoke', { senderId: 'bob' }),
    decide('revoke', { senderId: 'bob' }, false),
    { name: 'ended', job: 'connect', output: { error, isFinal: false } },
    { name: 'refused', job: 'connect', output: { error, isFinal: true } },
    { name: 'timed out', job: 'connect', error },
  ],
  key: ({ snapshot, jobs }) => {
    const { identity, pairings, approved } = snapshot.context as ChannelContext;
    return [snapshot.value, identity, pairings.length, approved.length, Object.keys(jobs)];
  },
  ledger: () => new Seen(),
};
