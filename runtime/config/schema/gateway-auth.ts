/** The configuration's section for who may connect to the gateway. */
import { Type } from '@sinclair/typebox';
import { defined } from '../../../protocols/defined.ts';
import { applied, oneOf, record, secret, section } from './fields.ts';

const texts = (description: string, default_?: readonly string[]) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
    description,
    ...defined({ default: default_ }),
  });

const trustedProxy = record('a reverse proxy in front of the gateway', {
  proxies: texts(
    'its IP addresses and CIDR ranges. `X-Forwarded-For` is accepted from them, in every mode',
  ),
  userHeader: Type.String({
    minLength: 1,
    default: 'x-forwarded-user',
    description: 'header in which the proxy names the user, in mode `trusted-proxy`',
  }),
  requiredHeaders: texts('headers that must be present, too', []),
  allowUsers: Type.Optional(
    texts('users who may connect. Default: every user that the proxy names'),
  ),
});

const rateLimit = section('wrong secrets', {
  maxAttempts: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 10,
    description:
      'number of wrong secrets of one account (an address, or an approved device) within `windowMs` that lock it: then its attempts are checked one at a time; a correct secret is still accepted',
  }),
  windowMs: Type.Integer({
    minimum: 1_000,
    maximum: 86_400_000,
    default: 60_000,
    description: 'milliseconds',
  }),
  lockoutMs: Type.Integer({
    minimum: 1_000,
    maximum: 86_400_000,
    default: 60_000,
    description: 'milliseconds',
  }),
  exemptLoopback: Type.Boolean({
    default: false,
    description: 'do not count attempts from this machine',
  }),
});

export const gatewayAuthSection = section('who may connect', {
  mode: oneOf(['token', 'password', 'none', 'trusted-proxy'], {
    description:
      'how a client authenticates that is not a paired device; `none`: not at all, and only direct connections from this machine are accepted; `trusted-proxy`: a proxy authenticates users',
    default: 'token',
  }),
  token: Type.Optional(
    secret(
      'the token of mode `token`. Default: a random one, created at the first start and stored in the file `token` of the data folder',
    ),
  ),
  password: Type.Optional(
    secret(
      'the password of mode `password`; in mode `trusted-proxy` it is accepted from this machine only',
    ),
  ),
  allowTailscale: Type.Boolean({
    default: false,
    description:
      'accept users that Tailscale Serve names, if the Tailscale daemon of this machine confirms them',
  }),
  allowLocal: Type.Boolean({
    default: true,
    description:
      'approve a new device automatically when it connects from this machine with the correct token or password',
  }),
  deviceIdentity: oneOf(['optional', 'remote', 'always'], {
    description:
      'which clients must be paired devices: none that have the secret, those on other machines, or all. ' +
      "Nodes always must; troupe's own command line and page become devices automatically",
    default: 'optional',
  }),
  trustedProxy: Type.Optional(trustedProxy),
  rateLimit: applied('process', rateLimit),
});
