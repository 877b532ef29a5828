/**
 * Keys: public keys with which external programs sign their envelopes. Operators register, rotate
 * and revoke them through the keyring actor of the tenant. Private keys never pass here.
 */
import { Type } from '@sinclair/typebox';
import { defined } from '../protocols/defined.ts';
import {
  KEY_OVERLAP_MS_MAX,
  type KeyringAdd,
  type KeyringRevoke,
  type KeyringRotate,
  type KeyRow,
  keyringAddress,
  KEYS_INDEX,
  KEYS_MAX,
} from '../protocols/security/keyring.ts';
import { askActor } from './ask-actor.ts';
import { defineOperation, ObjectOf, type OperationContext, type Resource } from './operation.ts';
import { table } from './text.ts';

const BODY_BYTES_MAX = 8_192;

const Key = ObjectOf<KeyRow>();
const Text = Type.Optional(Type.String());
const registration = {
  sub: Type.String({
    minLength: 1,
    maxLength: 256,
    description: 'The program that signs with it: the `sub` of its tokens',
  }),
  /** closed, so that a private part (`d`) is refused instead of stored */
  public_jwk: Type.Object(
    {
      kty: Type.Literal('OKP'),
      crv: Type.Literal('Ed25519'),
      x: Type.String(),
      kid: Text,
      use: Text,
      alg: Text,
    },
    { additionalProperties: false, description: 'Ed25519: kty, crv, x' },
  ),
};
const secret = /^\/public_jwk/;
const created = (row: KeyRow) => ({
  status: 201,
  headers: { location: `/v1/keys/${row.kid}` },
});

const list = defineOperation({
  name: 'keys.list',
  scope: 'any-tenant',
  summary: 'List public keys with their programs and expiry dates',
  params: Type.Object({}),
  result: Type.Object({ keys: Type.Array(Key) }),
  errors: ['INVALID_ARGUMENT'],
  http: {
    method: 'GET',
    path: '/v1/keys',
    operationId: 'listKeys',
    responses: { 200: 'The keys' },
  },
  cli: { command: 'keys list', print: ({ keys: rows }) => listText(rows) },
  run: ({ system, tenant }) => ({
    keys: system.index
      .list<KeyRow>(KEYS_INDEX, tenant, { limit: KEYS_MAX })
      .map(({ value }) => value),
  }),
});

export const addKey = defineOperation({
  name: 'keys.add',
  scope: 'any-tenant',
  summary: 'Register a public key',
  params: Type.Object(registration),
  result: Key,
  errors: ['INVALID_ARGUMENT', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  secret,
  http: {
    method: 'POST',
    path: '/v1/keys',
    operationId: 'addKey',
    responses: { 201: 'Registered' },
    reply: created,
    bodyBytesMax: BODY_BYTES_MAX,
  },
  run: (context, { sub, public_jwk: publicJwk }) =>
    askKeyring(context, { type: 'keyring.add', sub, publicJwk }),
});

export const rotateKey = defineOperation({
  name: 'keys.rotate',
  scope: 'any-tenant',
  summary: 'Register a public key that replaces the keys of its program',
  params: Type.Object({
    ...registration,
    overlap_sec: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: KEY_OVERLAP_MS_MAX / 1_000,
        description: 'How long the replaced keys stay valid, in seconds; default 7 days',
      }),
    ),
  }),
  result: Key,
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  secret,
  http: {
    method: 'POST',
    path: '/v1/keys/rotate',
    operationId: 'rotateKey',
    responses: { 201: 'Registered; the replaced keys stay valid for the overlap' },
    reply: created,
    bodyBytesMax: BODY_BYTES_MAX,
  },
  run: (context, { sub, public_jwk: publicJwk, overlap_sec: overlapSec }) =>
    askKeyring(context, {
      type: 'keyring.rotate',
      sub,
      publicJwk,
      ...defined({ overlapMs: overlapSec === undefined ? undefined : overlapSec * 1_000 }),
    }),
});

const revoke = defineOperation({
  name: 'keys.revoke',
  scope: 'any-tenant',
  summary: 'Revoke a key at once and permanently',
  params: Type.Object({ kid: Type.String({ description: 'Id of the key, as the list shows it' }) }),
  result: Key,
  errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'DELETE',
    path: '/v1/keys/{kid}',
    operationId: 'revokeKey',
    responses: { 200: 'The revoked key' },
  },
  cli: {
    command: 'keys revoke',
    args: ['kid'],
    // An id may begin with a dash.
    allowsDash: true,
    print: ({ sub, kid }) => `${sub} can no longer sign with ${kid}\n`,
  },
  run: (context, { kid }) => askKeyring(context, { type: 'keyring.revoke', kid }),
});

const askKeyring = (
  context: OperationContext,
  message: KeyringAdd | KeyringRotate | KeyringRevoke,
): Promise<KeyRow> =>
  askActor<KeyRow>(context, keyringAddress(context.tenant), message, { name: 'the keyring' });

export const keys: Resource = {
  name: 'keys',
  operations: [list, addKey, rotateKey, revoke],
};

const listText = (rows: readonly KeyRow[]): string =>
  rows.length === 0
    ? 'there are no keys\n'
    : table(
        ['sub', 'status', 'valid until', 'key'],
        rows.map(({ sub, status, retires_at, expires_at, kid }) => [
          sub,
          status,
          status === 'active' || status === 'retiring' ? (retires_at ?? expires_at) : '-',
          kid,
        ]),
      );
