/**
 * Keys over HTTP: operators register, rotate and revoke the public keys of programs outside;
 * everybody may read this installation's own (`/.well-known/jwks.json`): what its tokens are signed
 * with and what payloads are sealed to. Private keys never pass here.
 */
import { Type } from '@sinclair/typebox';
import { type CheckAnswer, checker } from '../../protocols/check.ts';
import { TroupeError } from '../../protocols/errors.ts';
import {
  KEY_OVERLAP_MS_MAX,
  type KeyringAdd,
  type KeyringRevoke,
  type KeyringRotate,
  type KeyRow,
  keyringAddress,
  KEYS_INDEX,
  KEYS_MAX,
} from '../../protocols/keyring.ts';
import type { System } from '../../runtime/index.ts';
import { schemaFault } from '../edge/checks.ts';
import type { Caller } from '../edge/edge.ts';
import type { Operator } from '../edge/identity/operator.ts';
import type { PublishedJwk } from '../edge/identity/sealer.ts';
import { parseJson, type Route, type RouteRequest, sendJson } from './route.ts';

export type KeyRoutesOptions = {
  readonly system: System;
  readonly operator: Operator;
  /** the tenant that is meant when a request names none */
  readonly tenant: string;
  /** the installation's own public keys */
  readonly published: () => Promise<readonly PublishedJwk[]>;
};

const BODY_BYTES_MAX = 8_192;
const ANSWER_MS = 10_000;
const PUBLISHED_CACHE = { 'cache-control': 'public, max-age=60' };

const closed = { additionalProperties: false } as const;
const Text = Type.Optional(Type.String());
const fields = {
  tenant: Type.Optional(Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' })),
  sub: Type.String({ minLength: 1, maxLength: 256 }),
  /** closed, so that a private part (`d`) is refused and not kept */
  public_jwk: Type.Object(
    {
      kty: Type.Literal('OKP'),
      crv: Type.Literal('Ed25519'),
      x: Type.String(),
      kid: Text,
      use: Text,
      alg: Text,
    },
    closed,
  ),
};
const secret = { secret: /^\/public_jwk/ };
const readKey = readerOf(checker(Type.Object(fields, closed), secret));
const overlap_sec = Type.Optional(
  Type.Integer({ minimum: 0, maximum: KEY_OVERLAP_MS_MAX / 1_000 }),
);
const readRotation = readerOf(checker(Type.Object({ ...fields, overlap_sec }, closed), secret));

export const keyRoutes = (options: KeyRoutesOptions): Route[] => [
  { method: 'GET', path: '/.well-known/jwks.json', handle: (request) => publish(options, request) },
  { method: 'GET', path: '/v1/keys', handle: (request) => list(options, request) },
  { method: 'POST', path: '/v1/keys', handle: (request) => add(options, request) },
  { method: 'POST', path: '/v1/keys/rotate', handle: (request) => rotate(options, request) },
  { method: 'DELETE', path: '/v1/keys/{kid}', handle: (request) => revoke(options, request) },
];

async function publish({ published }: KeyRoutesOptions, { response }: RouteRequest) {
  sendJson(response, 200, { keys: await published() }, PUBLISHED_CACHE);
}

async function list({ system, operator, tenant }: KeyRoutesOptions, request: RouteRequest) {
  await operator(request);
  const of = request.query.get('tenant') ?? tenant;
  // Throws where the name is none of a tenant.
  keyringAddress(of);
  const rows = system.index.list<KeyRow>(KEYS_INDEX, of, { limit: KEYS_MAX });
  sendJson(request.response, 200, { keys: rows.map(({ value }) => value) });
}

async function add(options: KeyRoutesOptions, request: RouteRequest) {
  const who = await options.operator(request);
  const { tenant, sub, public_jwk: publicJwk } = await readKey(request);
  const row = await ask(options, who, tenant, { type: 'keyring.add', sub, publicJwk });
  sendJson(request.response, 201, row, { location: `/v1/keys/${row.kid}` });
}

async function rotate(options: KeyRoutesOptions, request: RouteRequest) {
  const who = await options.operator(request);
  const { tenant, sub, public_jwk, overlap_sec: overlapSec } = await readRotation(request);
  const row = await ask(options, who, tenant, {
    type: 'keyring.rotate',
    sub,
    publicJwk: public_jwk,
    ...(overlapSec === undefined ? {} : { overlapMs: overlapSec * 1_000 }),
  });
  sendJson(request.response, 201, row, { location: `/v1/keys/${row.kid}` });
}

async function revoke(options: KeyRoutesOptions, request: RouteRequest) {
  const who = await options.operator(request);
  const tenant = request.query.get('tenant') ?? undefined;
  const kid = request.params['kid']!;
  sendJson(request.response, 200, await ask(options, who, tenant, { type: 'keyring.revoke', kid }));
}

/** @throws TroupeError INVALID_ARGUMENT with the path of each fault, PAYLOAD_TOO_LARGE */
function readerOf<T>(check: (value: unknown) => CheckAnswer<T>) {
  return async (request: RouteRequest): Promise<T> => {
    const answer = check(parseJson(await request.body(BODY_BYTES_MAX)));
    if (answer.ok) return answer.value;
    throw schemaFault('the body is not valid', answer.errors);
  };
}

/** What the tenant's keyring answers. @throws TroupeError what it refuses with; UNAVAILABLE */
async function ask(
  { system, tenant }: KeyRoutesOptions,
  { sub, roles }: Caller,
  of: string | undefined,
  message: KeyringAdd | KeyringRotate | KeyringRevoke,
): Promise<KeyRow> {
  const answer = await system.ask(keyringAddress(of ?? tenant), message, {
    principal: { sub, roles },
    timeoutMs: ANSWER_MS,
  });
  if (answer.kind === 'answered') return answer.result as KeyRow;
  if (answer.kind === 'refused') throw TroupeError.from(answer.error);
  throw new TroupeError('UNAVAILABLE', 'the keyring has not answered yet: send it again', {
    retryAfterMs: 1_000,
  });
}
