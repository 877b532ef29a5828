/** Channels: the accounts of messengers, senders who ask to be approved, and approved senders. */
import type {
  ApprovedRow,
  ChannelRow,
  ChannelSender,
  PairingRow,
} from '../../../protocols/channel.ts';
import { timeAgo } from '../../times.ts';
import { Action } from '../action.tsx';
import { stateColumn, timeColumn } from '../columns.tsx';
import type { DetailProps, ListDefinition } from '../list-view.tsx';
import { Facts, Part, Time } from '../pane.tsx';
import { StatePill } from '../state-pill.tsx';
import { strings } from '../strings.ts';

const own = strings.channels;

/** An account with the senders that asked it, or were approved for it. */
type Account = ChannelRow & {
  readonly asking: readonly PairingRow[];
  readonly senders: readonly ApprovedRow[];
};
type Pairings = {
  readonly pending: readonly PairingRow[];
  readonly approved: readonly ApprovedRow[];
};

const keyOf = ({ channel, account }: { channel: string; account: string }): string =>
  `${channel}:${account}`;

const labelOf = ({ id, name, username }: ChannelSender): string => {
  const shown = name ?? username;
  return shown === undefined ? id : `${shown} (${id})`;
};

async function readAccounts({ workspace }: Pick<DetailProps, 'workspace'>) {
  const [{ channels: rows }, { pending, approved }] = await Promise.all([
    workspace.operate<{ channels: readonly ChannelRow[] }>('channels.list'),
    workspace.operate<Pairings>('pairing.list'),
  ]);
  return rows.map((row): Account => {
    const isOf = (one: PairingRow | ApprovedRow) => keyOf(one) === keyOf(row);
    return { ...row, asking: pending.filter(isOf), senders: approved.filter(isOf) };
  });
}

/** What the state means, and what to do about it. */
const reasonOf = ({ state, lastError = '', nextTryAt }: ChannelRow): string => {
  if (state === 'failed') return own.reasons.failed(lastError);
  if (state !== 'backoff') return own.reasons[state];
  const next = nextTryAt === undefined ? '' : strings.time(Date.parse(nextTryAt));
  return own.reasons.backoff(lastError, next);
};

const counted = (times: number, lastAt: string | undefined): string =>
  lastAt === undefined
    ? strings.number(times)
    : `${strings.number(times)} · ${timeAgo(Date.parse(lastAt))}`;

const refusedText = ({ refused }: ChannelRow): string =>
  Object.entries(refused)
    .map(([rule, times]) => `${own.rules[rule] ?? rule}: ${strings.number(times)}`)
    .join('; ');

export const channels: ListDefinition<Account> = {
  icon: 'channels',
  title: own.title,
  read: readAccounts,
  idOf: keyOf,
  titleOf: keyOf,
  columns: [
    { name: own.account, text: keyOf, width: 'minmax(0, 1.5fr)' },
    stateColumn(({ state }) => state),
    timeColumn(own.since, ({ since }) => Date.parse(since)),
    { name: strings.name, text: ({ name = '' }) => name },
    {
      name: own.inbound,
      text: ({ inbound, lastInboundAt }) => counted(inbound, lastInboundAt),
      order: ({ inbound }) => inbound,
    },
    {
      name: own.outbound,
      text: ({ outbound, lastOutboundAt }) => counted(outbound, lastOutboundAt),
      order: ({ outbound }) => outbound,
    },
  ],
  empty: own.empty,
  above: (accounts, more) => <Requests accounts={accounts} more={more} />,
  details: (row, more) => <Details row={row} more={more} />,
};

/** Senders that wrote and are not approved, of all accounts. */
const Requests = ({ accounts, more }: { accounts: readonly Account[]; more: DetailProps }) => {
  const requests = accounts.flatMap(({ asking }) => asking);
  if (requests.length === 0) return null;
  return (
    <section class="devices asked" aria-label={own.requests} aria-live="polite">
      {requests.map((request) => (
        <Request key={`${keyOf(request)} ${request.code}`} request={request} more={more} />
      ))}
    </section>
  );
};

const Request = ({ request, more }: { request: PairingRow; more: DetailProps }) => {
  const { code, sender, expiresAt } = request;
  const question = own.mayWrite(labelOf(sender), keyOf(request));
  const decide = (name: string) => () => more.workspace.operate(name, { code });
  return (
    <div class="device asks" role="group" aria-label={question}>
      <p>
        <b>{question}</b>
      </p>
      <p class="muted">
        {own.code} <code>{code}</code> · {own.expires} <Time at={Date.parse(expiresAt)} />
      </p>
      <div class="answers">
        <Action
          label={own.approve}
          kind="primary"
          run={decide('pairing.approve')}
          onDone={more.again}
        />
        <Action label={own.reject} run={decide('pairing.reject')} onDone={more.again} />
      </div>
    </div>
  );
};

const Details = ({ row, more }: { row: Account; more: DetailProps }) => {
  const account = keyOf(row);
  const { state, lastError, senders } = row;
  const isBroken = state === 'failed' || state === 'backoff';
  const restart = () => more.workspace.operate('channels.restart', { account });
  return (
    <>
      <StatePill state={state} />
      <p class={state === 'failed' ? 'failed' : ''}>{reasonOf(row)}</p>
      {state !== 'stopped' && (
        <div class="buttons">
          <Action
            label={own.restart}
            {...(isBroken && { kind: 'primary' as const })}
            run={restart}
            onDone={more.again}
          />
        </div>
      )}
      <Part title={strings.details}>
        <Facts
          facts={[
            [strings.name, row.name],
            [own.since, <Time at={Date.parse(row.since)} />],
            [own.inbound, counted(row.inbound, row.lastInboundAt)],
            [own.outbound, counted(row.outbound, row.lastOutboundAt)],
            [own.reconnects, strings.number(row.reconnects)],
            [own.refused, refusedText(row)],
            [own.lastError, isBroken ? undefined : lastError],
          ]}
        />
      </Part>
      <Part title={own.senders}>
        {senders.length === 0 && <p class="muted">{own.noSenders}</p>}
        <ul class="plain-list">
          {senders.map((one) => (
            <Sender key={one.sender.id} row={one} more={more} />
          ))}
        </ul>
      </Part>
    </>
  );
};

const Sender = ({ row, more }: { row: ApprovedRow; more: DetailProps }) => {
  const revoke = () =>
    more.workspace.operate('pairing.revoke', { account: keyOf(row), sender: row.sender.id });
  return (
    <li>
      {labelOf(row.sender)} <span class="muted">{timeAgo(Date.parse(row.at))}</span>
      <div class="buttons">
        <Action label={own.revoke} kind="danger" asks="sure" run={revoke} onDone={more.again} />
      </div>
    </li>
  );
};
