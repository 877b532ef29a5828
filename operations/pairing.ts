/** Pairing: unknown senders of messengers ask for approval by writing; operators decide. */
import { Type } from '@sinclair/typebox';
import { APPROVER_ROLE } from '../protocols/approval.ts';
import {
  type AccountRef,
  accountKey,
  APPROVED_INDEX,
  type ApprovedRow,
  channelAddress,
  type ChannelSender,
  type PairingDecided,
  type PairingRow,
  PAIRINGS_INDEX,
} from '../protocols/channel.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { Message } from '../protocols/statechart.ts';
import { askActor } from './ask-actor.ts';
import { accountNamed } from './channels.ts';
import { defineOperation, ObjectOf, type OperationContext, type Resource } from './operation.ts';
import { rowsOf } from './rows.ts';
import { ago, table } from './text.ts';

const LISTED_MAX = 1_000;
const Code = Type.Object({
  code: Type.String({ minLength: 1, maxLength: 16, description: 'The code that the sender got' }),
});
const Decided = Type.Object({ sender: ObjectOf<ChannelSender>() });

const list = defineOperation({
  name: 'pairing.list',
  scope: 'tenant',
  gatewayScope: 'operator.pairing',
  summary: 'List senders who ask to be approved, and approved senders',
  params: Type.Object({}),
  result: Type.Object({
    pending: Type.Array(ObjectOf<PairingRow>()),
    approved: Type.Array(ObjectOf<ApprovedRow>()),
  }),
  errors: [],
  http: {
    method: 'GET',
    path: '/v1/pairings',
    operationId: 'listPairings',
    responses: { 200: 'At most 1,000 of each' },
  },
  cli: {
    command: 'pairing list',
    examples: ['troupe pairing'],
    print: ({ pending, approved }) => listText(pending, approved, Date.now()),
  },
  async run(context) {
    return { pending: await pendingRows(context), approved: await approvedRows(context) };
  },
});

async function pendingRows({ system, tenant, now }: OperationContext): Promise<PairingRow[]> {
  const found: PairingRow[] = [];
  for await (const row of rowsOf<PairingRow>(system.index, PAIRINGS_INDEX, tenant))
    if (Date.parse(row.expiresAt) > now() && found.length < LISTED_MAX) found.push(row);
  return found;
}

async function approvedRows({ system, tenant }: OperationContext): Promise<ApprovedRow[]> {
  const found: ApprovedRow[] = [];
  for await (const row of rowsOf<ApprovedRow>(system.index, APPROVED_INDEX, tenant)) {
    if (found.length === LISTED_MAX) break;
    found.push(row);
  }
  return found;
}

/** The order to the account that has the request with this code. @throws TroupeError NOT_FOUND */
async function decide(
  context: OperationContext,
  code: string,
  type: 'channel.approve' | 'channel.reject',
): Promise<PairingDecided> {
  const wanted = code.trim().toUpperCase();
  const row = (await pendingRows(context)).find((one) => one.code === wanted);
  if (row) return order(context, row, { type, code: wanted });
  const message = `no sender has the code ${wanted}: \`troupe pairing\` lists those who ask; a code is valid for an hour`;
  throw new TroupeError('NOT_FOUND', message);
}

const order = (
  context: OperationContext,
  account: AccountRef,
  message: Message,
): Promise<PairingDecided> =>
  askActor<PairingDecided>(context, channelAddress(context.tenant, account), message, {
    name: `account ${accountKey(account)}`,
    roles: [APPROVER_ROLE],
  });

const approve = defineOperation({
  name: 'pairing.approve',
  scope: 'tenant',
  gatewayScope: 'operator.pairing',
  summary: 'Approve a sender by the code that the sender got',
  params: Code,
  result: Decided,
  errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/pairings/{code}/approve',
    operationId: 'approvePairing',
    responses: { 200: 'The sender may write from now on' },
  },
  cli: {
    command: 'pairing approve',
    args: ['code'],
    examples: ['troupe pairing approve K7QX2M9P'],
    print: ({ sender }) => `${labelOf(sender)} may write from now on\n`,
  },
  run: (context, { code }) => decide(context, code, 'channel.approve'),
});

const reject = defineOperation({
  name: 'pairing.reject',
  scope: 'tenant',
  gatewayScope: 'operator.pairing',
  summary: 'Reject the request of a sender',
  params: Code,
  result: Decided,
  errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/pairings/{code}/reject',
    operationId: 'rejectPairing',
    responses: { 200: 'Rejected' },
  },
  cli: {
    command: 'pairing reject',
    args: ['code'],
    print: ({ sender }) => `${labelOf(sender)} is rejected\n`,
  },
  run: (context, { code }) => decide(context, code, 'channel.reject'),
});

const revoke = defineOperation({
  name: 'pairing.revoke',
  scope: 'tenant',
  gatewayScope: 'operator.pairing',
  summary: 'Revoke the approval of a sender',
  params: Type.Object({
    account: Type.String({ description: 'The account, as telegram:main' }),
    sender: Type.String({ minLength: 1, maxLength: 128, description: 'Id of the sender' }),
  }),
  result: Decided,
  errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/channels/{account}/revoke',
    operationId: 'revokeSender',
    responses: { 200: 'The sender may no longer write' },
  },
  cli: {
    command: 'pairing revoke',
    args: ['account', 'sender'],
    examples: ['troupe pairing revoke telegram:main 4711'],
    print: ({ sender }) => `${labelOf(sender)} may no longer write\n`,
  },
  run: (context, { account, sender }) =>
    order(context, accountNamed(context, account), { type: 'channel.revoke', senderId: sender }),
});

export const pairing: Resource = {
  name: 'pairing',
  operations: [list, approve, reject, revoke],
};

const labelOf = ({ id, name, username }: ChannelSender): string => {
  const shown = name ?? username;
  return shown === undefined ? id : `${shown} (${id})`;
};

function listText(
  pending: readonly PairingRow[],
  approved: readonly ApprovedRow[],
  now: number,
): string {
  const asking = pending.map((row) => [
    row.code,
    accountKey(row),
    labelOf(row.sender),
    `in ${ago(Date.parse(row.expiresAt) - now)}`,
  ]);
  const known = approved.map((row) => [accountKey(row), row.sender.id, labelOf(row.sender)]);
  return [
    asking.length === 0
      ? 'no sender asks to be approved\n'
      : table(['code', 'account', 'sender', 'expires'], asking),
    known.length === 0 ? '' : `\n${table(['account', 'id', 'approved sender'], known)}`,
  ].join('');
}
