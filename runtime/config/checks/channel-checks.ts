/** Rules of the section `channels`. */
import { WEBHOOK_SECRET_RULE, webhookKeyOf } from '../../../protocols/security/webhook-key.ts';
import { childPointer } from '../pointer.ts';
import type { Config } from '../schema/schema.ts';
import { UnreadSecret } from '../secret.ts';
import type { Finding } from './check.ts';

/** An account that no message could reach. */
export function accountsReceive({ channels: { slack, telegram } }: Config): Finding[] {
  return [
    ...findingsIn('slack', slack?.accounts, ({ appToken, signingSecret }) =>
      appToken === undefined && signingSecret === undefined
        ? 'set `appToken` (Socket Mode) or `signingSecret` (Events API over HTTP): without one of them no message arrives'
        : undefined,
    ),
    ...findingsIn('telegram', telegram?.accounts, ({ webhookUrl, webhookSecret }) =>
      (webhookUrl === undefined) !== (webhookSecret === undefined)
        ? 'a webhook needs `webhookUrl` and `webhookSecret`: set the other one, or remove both to poll'
        : undefined,
    ),
  ];
}

/** The value is never shown. */
export const webhookSecretsFit = ({ channels: { webhook } }: Config): Finding[] =>
  findingsIn(
    'webhook',
    webhook?.accounts,
    ({ secret }) =>
      !secret || secret instanceof UnreadSecret || webhookKeyOf(secret.reveal())
        ? undefined
        : WEBHOOK_SECRET_RULE,
    'secret',
  );

const findingsIn = <Account>(
  channel: string,
  accounts: Readonly<Record<string, Account>> = {},
  problemOf: (account: Account) => string | undefined,
  field?: string,
): Finding[] =>
  Object.entries(accounts).flatMap(([name, account]) => {
    const message = problemOf(account);
    const place = childPointer(`/channels/${channel}/accounts`, name);
    const pointer = field === undefined ? place : childPointer(place, field);
    return message === undefined ? [] : [{ pointer, message }];
  });
