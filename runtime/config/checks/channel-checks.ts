/** Rules of the section `channels`. */
import { childPointer } from '../pointer.ts';
import type { Config } from '../schema/schema.ts';
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

const findingsIn = <Account>(
  channel: string,
  accounts: Readonly<Record<string, Account>> = {},
  problemOf: (account: Account) => string | undefined,
): Finding[] =>
  Object.entries(accounts).flatMap(([name, account]) => {
    const message = problemOf(account);
    const pointer = childPointer(`/channels/${channel}/accounts`, name);
    return message === undefined ? [] : [{ pointer, message }];
  });
