/** The configuration's section for who may connect to the gateway. */
import { Type } from '@sinclair/typebox';
import { defined } from '../../protocols/defined.ts';
import { oneOf, record, secret, section } from './fields.ts';

const texts = (description: string, default_?: readonly string[]) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
    description,
    ...defined({ default: default_ }),
  });

const trustedProxy = record('a reverse proxy in front of the gateway', {
  proxies: texts(
    'its IP addresses and CIDR ranges. From these `X-Forwarded-For` counts, in every mode',
  ),
  userHeader: Type.String({
    minLength: 1,
    default: 'x-forwarded-user',
    description: 'header in which the proxy names the person, of mode `trusted-proxy`',
  }),
  requiredHeaders: texts('headers that must be there as well', []),
  allowUsers: Type.Optional(
    texts('users who may connect. Left out: every user that the proxy names'),
  ),
});

const rateLimit = section('wrong secrets', {
  maxAttempts: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 10,
    description:
      'number of wrong secrets of one account (an address, or an approved device) within `windowMs` that lock it: ' +
      'its attempts are judged one at a time then; a right secret is still admitted',
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
      'what a client must show that is no paired device; `none`: nothing, but only direct ' +
      'connections from this machine are admitted; `trusted-proxy`: a proxy has found out who it is',
    default: 'token',
  }),
  token: Type.Optional(
    secret(
      'the token of mode `token`. Left out: a random one is made at the first start and kept in the ' +
        'file `token` of the data folder',
    ),
  ),
  password: Type.Optional(
    secret(
      'the password of mode `password`; in mode `trusted-proxy` a way in from this machine alone',
    ),
  ),
  allowTailscale: Type.Boolean({
    default: false,
    description:
      'let in whom Tailscale Serve names, if the Tailscale daemon of this machine says the same',
  }),
  allowLocal: Type.Boolean({
    default: true,
    description:
      'approve a new device by itself when it connects from this machine with the right token or password',
  }),
  deviceIdentity: oneOf(['optional', 'remote', 'always'], {
    description:
      'who must be a paired device: nobody who has the secret, who is not on this machine, everybody. ' +
      "A node always must; troupe's own command line and page become devices by themselves",
    default: 'optional',
  }),
  trustedProxy: Type.Optional(trustedProxy),
  rateLimit,
});
