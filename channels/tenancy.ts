/**
 * Tenancy: one table that maps principals, tokens and channel accounts to tenants. Every entry
 * point uses it; whatever it does not list belongs to the tenant `default`.
 *
 * Invariants: one name belongs to one tenant. Tokens are stored as SHA-256 only, so a comparison
 * takes the same time for any token.
 */
import { hash } from 'node:crypto';
import { DEFAULT_TENANT } from '../protocols/address.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { Config } from '../runtime/config/index.ts';
import { isUnguessable } from './unguessable.ts';

export type TenantEntry = {
  readonly tenant: string;
  /** who shows one of these is an operator of the tenant, and of no other */
  readonly tokens: readonly string[];
  /** as entry points authenticate them: `tailscale:ann@example.com`, `proxy:ann`, `device:<id>` */
  readonly principals: readonly string[];
  /** `telegram:acct`: what comes through that account */
  readonly channelAccounts: readonly string[];
};

export class Tenancy {
  readonly #tokens: ReadonlyMap<string, string>;
  readonly #principals: ReadonlyMap<string, string>;
  readonly #accounts: ReadonlyMap<string, string>;
  readonly tenants: readonly string[];
  /** one of the tokens is short or simple enough to be guessed */
  readonly hasGuessableToken: boolean;

  /** @throws TroupeError INVALID_ARGUMENT when a name is of two tenants; it shows no token */
  constructor(entries: readonly TenantEntry[]) {
    this.tenants = [...new Set([DEFAULT_TENANT, ...entries.map(({ tenant }) => tenant)])];
    this.hasGuessableToken = entries.some(
      ({ tokens }) => !tokens.every((token) => isUnguessable(token)),
    );
    this.#tokens = tableOf(entries, 'token', ({ tokens }) => tokens.map(digest));
    this.#principals = tableOf(entries, 'principal', ({ principals }) => principals);
    this.#accounts = tableOf(entries, 'channel account', ({ channelAccounts }) => channelAccounts);
  }

  /** Undefined: it is not a tenant's token. */
  ofToken(token: string): string | undefined {
    return this.hasTokens ? this.#tokens.get(digest(token)) : undefined;
  }

  /** There are tokens of tenants. */
  get hasTokens(): boolean {
    return this.#tokens.size > 0;
  }

  ofPrincipal(name: string): string {
    return this.#principals.get(name) ?? DEFAULT_TENANT;
  }

  ofChannelAccount(account: string): string {
    return this.#accounts.get(account) ?? DEFAULT_TENANT;
  }
}

/**
 * The tenants of a configuration.
 * @throws TroupeError INVALID_ARGUMENT when two tenants have the same name or token
 */
export function tenancyOf({ tenants, gateway }: Pick<Config, 'tenants' | 'gateway'>): Tenancy {
  const entries = Object.entries(tenants).map(
    ([tenant, { token, principals, channelAccounts }]): TenantEntry => ({
      tenant,
      tokens: token === undefined ? [] : [token.reveal()],
      principals,
      channelAccounts,
    }),
  );
  const tenancy = new Tenancy(entries);
  for (const own of [gateway.auth.token, gateway.auth.password]) {
    const taken = own && tenancy.ofToken(own.reveal());
    if (taken)
      throw new TroupeError(
        'INVALID_ARGUMENT',
        `tenants.${taken}.token is the secret of the gateway itself: use a separate one for the tenant`,
      );
  }
  return tenancy;
}

const digest = (token: string): string => hash('sha256', token, 'hex');

const tableOf = (
  entries: readonly TenantEntry[],
  what: string,
  namesOf: (entry: TenantEntry) => readonly string[],
): ReadonlyMap<string, string> => {
  const table = new Map<string, string>();
  for (const entry of entries) {
    for (const name of namesOf(entry)) {
      const other = table.get(name);
      if (other !== undefined && other !== entry.tenant) {
        const shown = what === 'token' ? 'the same token' : `the ${what} "${name}"`;
        throw new TroupeError(
          'INVALID_ARGUMENT',
          `${shown} is of the tenants ${other} and ${entry.tenant}: give it to one of them`,
        );
      }
      table.set(name, entry.tenant);
    }
  }
  return table;
};
