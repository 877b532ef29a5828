/**
 * Pairing: unknown senders ask for approval by writing; an operator approves them by the code that
 * they received. Pure.
 *
 * Invariants: a sender has at most one pending request, an account at most PAIRINGS_PENDING_MAX;
 * only a new request is answered, and only to its sender; a request ends after PAIRING_TTL_MS.
 */
import {
  APPROVED_INDEX,
  APPROVED_SENDERS_MAX,
  type ApprovedRow,
  approvedKey,
  chatAddress,
  type ChatDeliver,
  PAIRING_TTL_MS,
  type PairingDecided,
  type PairingRow,
  PAIRINGS_INDEX,
  PAIRINGS_PENDING_MAX,
  accountKey,
} from '../../protocols/channel.ts';
import { APPROVER_ROLE } from '../../protocols/approval.ts';
import type { ErrorCode } from '../../protocols/errors.ts';
import type { Meta } from '../../protocols/statechart.ts';
import type { HostAction } from '../kit/handlers.ts';
import { type ActionArgs, type ActionResult, nowOf, on } from './action-result.ts';
import type { Approved, ChannelContext, Pairing } from './types.ts';

/** Operators decide, through an entry point; a message of an actor is never a decision. */
const isByOperator = ({ from, principal }: Meta): boolean =>
  from === undefined && (principal?.roles.includes(APPROVER_ROLE) ?? false);

const isOpen =
  (now: number) =>
  (one: Pairing): boolean =>
    now < one.at + PAIRING_TTL_MS;

/** A stranger wrote. Approved senders, repeats and requests above the limit change nothing. */
export const request = on('channel.pair', ({ context, event }): ActionResult => {
  const { sender, chat, code, meta } = event;
  const { tenant, approved } = context;
  const open = context.pairings.filter(isOpen(meta.now));
  const isKnown = [...open, ...approved].some((one) => one.sender.id === sender.id);
  if (isKnown || open.length >= PAIRINGS_PENDING_MAX) return {};
  const pairing = { code, sender, at: meta.now };
  const greeting: ChatDeliver = {
    type: 'chat.deliver',
    id: `pairing:${code}`,
    chat,
    text: greetingOf(context, code),
  };
  const expired = context.pairings.filter((one) => !open.includes(one));
  return {
    change: { pairings: [...open, pairing] },
    send: [
      ...expired.map((one) => rowOf(context, one, null)),
      rowOf(context, pairing),
      { type: 'tell', params: { to: chatAddress(tenant, context, chat), event: greeting } },
    ],
  };
});

const greetingOf = ({ channel, account }: ChannelContext, code: string): string =>
  `This assistant does not know you yet. Your pairing code is **${code}**; it is valid for an hour. ` +
  `An operator approves you with: \`troupe pairing approve ${code}\` (${channel}:${account})`;

export const approve = on('channel.approve', (at): ActionResult => {
  const { context, event } = at;
  const decided = decidedBy(at, event.code);
  if ('refusal' in decided) return decided.refusal;
  const { pairing } = decided;
  if (context.approved.length >= APPROVED_SENDERS_MAX)
    return refuse(
      at,
      'RATE_LIMIT_EXCEEDED',
      `${accountKey(context)} has ${APPROVED_SENDERS_MAX} approved senders, which is its limit: revoke some, or use \`allowFrom\` or \`dmPolicy: open\``,
    );
  const approved: Approved = { sender: pairing.sender, at: nowOf(event) };
  return {
    change: {
      pairings: context.pairings.filter((one) => one !== pairing),
      approved: [...context.approved, approved],
    },
    send: [
      rowOf(context, pairing, null),
      approvedRow(context, approved),
      answer(at, { sender: pairing.sender }),
    ],
  };
});

export const reject = on('channel.reject', (at): ActionResult => {
  const { context, event } = at;
  const decided = decidedBy(at, event.code);
  if ('refusal' in decided) return decided.refusal;
  const { pairing } = decided;
  return {
    change: { pairings: context.pairings.filter((one) => one !== pairing) },
    send: [rowOf(context, pairing, null), answer(at, { sender: pairing.sender })],
  };
});

export const revoke = on('channel.revoke', (at): ActionResult => {
  const { context, event } = at;
  if (!isByOperator(event.meta)) return forbidden(at);
  const found = context.approved.find(({ sender }) => sender.id === event.senderId);
  if (!found)
    return refuse(
      at,
      'NOT_FOUND',
      `${accountKey(context)} has not approved ${shown(event.senderId)}`,
    );
  return {
    change: { approved: context.approved.filter((one) => one !== found) },
    send: [approvedRow(context, found, null), answer(at, { sender: found.sender })],
  };
});

/** The pending request with the code, or the refusal. */
function decidedBy(at: ActionArgs, code: string): { pairing: Pairing } | { refusal: ActionResult } {
  const { context, event } = at;
  if (!isByOperator(event.meta)) return { refusal: forbidden(at) };
  const pairing = context.pairings.filter(isOpen(nowOf(event))).find((one) => one.code === code);
  if (pairing) return { pairing };
  const message = `${accountKey(context)} has no pending request with the code ${shown(code)}: \`troupe pairing list\` shows those there are; a code is valid for an hour`;
  return { refusal: refuse(at, 'NOT_FOUND', message) };
}

const shown = (text: unknown): string => String(text).slice(0, 80);

const answer = ({ event }: ActionArgs, result: PairingDecided): HostAction => ({
  type: 'reply',
  params: { to: event.meta.reply, result },
});

const refuse = ({ event }: ActionArgs, code: ErrorCode, message: string) =>
  ({
    send: [{ type: 'reply', params: { to: event.meta.reply, error: { code, message } } }],
  }) satisfies ActionResult;

const forbidden = (at: ActionArgs) =>
  refuse(
    at,
    'FORBIDDEN',
    `only a principal with this role decides about senders: ${APPROVER_ROLE}`,
  );

const iso = (at: number): string => new Date(at).toISOString();

const rowOf = (
  context: ChannelContext,
  { code, sender, at }: Pairing,
  value?: null,
): HostAction => {
  const { channel, account } = context;
  const row: PairingRow = {
    channel,
    account,
    code,
    sender,
    at: iso(at),
    expiresAt: iso(at + PAIRING_TTL_MS),
  };
  const key = `${accountKey(context)}:${code}`;
  return {
    type: 'project',
    params: {
      index: PAIRINGS_INDEX,
      key,
      value: value === null ? null : row,
      keepMs: PAIRING_TTL_MS,
    },
  };
};

const approvedRow = (
  context: ChannelContext,
  { sender, at }: Approved,
  value?: null,
): HostAction => {
  const { channel, account } = context;
  const row: ApprovedRow = { channel, account, sender, at: iso(at) };
  const key = approvedKey(context, sender.id);
  return {
    type: 'project',
    params: { index: APPROVED_INDEX, key, value: value === null ? null : row },
  };
};
