/** The accounts of the configuration, each with its tenant and the digest of its settings. */
import { createHash } from 'node:crypto';
import { type AccountRef, accountKey } from '../../protocols/channel.ts';
import { type AccountPolicy, type Config, Secret } from '../../runtime/config/index.ts';
import { tenancyOf } from '../tenancy.ts';

export type AccountSettings = AccountRef & {
  readonly tenant: string;
  /** as the adapter of the channel expects them */
  readonly settings: AccountPolicy;
  /** changes with every setting; shows no secret */
  readonly digest: string;
};

export function accountSettings(config: Config): ReadonlyMap<string, AccountSettings> {
  const tenancy = tenancyOf(config);
  const found = new Map<string, AccountSettings>();
  for (const [channel, section] of Object.entries(config.channels)) {
    for (const [account, settings] of Object.entries(section?.accounts ?? {})) {
      const key = accountKey({ channel, account });
      const tenant = tenancy.ofChannelAccount(key);
      found.set(key, { channel, account, tenant, settings, digest: digestOf(settings) });
    }
  }
  return found;
}

/** A secret hides its value from JSON, so it is read from its object. */
function digestOf(settings: object): string {
  const text = JSON.stringify(settings, function (this: object, key: string, value: unknown) {
    const raw = (this as Record<string, unknown>)[key];
    return raw instanceof Secret ? raw.reveal() : value;
  });
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
