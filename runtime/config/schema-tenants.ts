/** The configuration's section for tenants: who belongs to which (SX4). */
import { Type } from '@sinclair/typebox';
import { secret, section } from './fields.ts';

const names = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { default: [], description });

const tenant = section('one tenant: its sessions, files, devices, jobs and budgets are its own', {
  token: Type.Optional(
    secret('who shows it to a gateway is an operator of this tenant, and of no other'),
  ),
  principals: names(
    'people and devices as a gateway authenticates them: `tailscale:LOGIN`, `proxy:USER`, `device:ID`',
  ),
  channelAccounts: names('accounts of channels, as `telegram:NAME`'),
});

/** `default` is there always: whoever is named nowhere is of it. */
export const tenantsSection = Type.Record(
  Type.String({ pattern: '^(?!default$)[a-z0-9][a-z0-9_-]{0,62}$' }),
  tenant,
  {
    default: {},
    additionalProperties: false,
    description:
      'tenants beside `default`, by name; whoever is named nowhere belongs to `default`. All have the same agents',
  },
);
