/**
 * The configuration of the entry point for other programs: who may connect, with which limits, and
 * where files are stored.
 */
import { Type } from '@sinclair/typebox';
import { AnyKey } from '../../../protocols/any-key.ts';
import { applied, oneOf, record, secret, section } from './fields.ts';

const text = (description: string) => Type.String({ minLength: 1, description });

const plain = Type.String({ minLength: 1 });
const role = Type.String({ minLength: 1, maxLength: 256 });
/** As names of tenants are everywhere. */
const tenantPattern = '^[a-z0-9][a-z0-9_-]{0,62}$';

const issuer = record('one issuer of tokens (JWT)', {
  issuer: text('its `iss`'),
  jwks: text('its public keys: a file (JWKS), or the http(s) URL that serves them'),
  audience: Type.Optional(
    Type.Unsafe<string | readonly string[]>(
      Type.Union([plain, Type.Array(plain, { minItems: 1, maxItems: 64 })], {
        'x-allowed': 'a text, or a list of texts',
        description:
          'the `aud` that a token must name (RFC 8707), or several of which it must name one. Default: `a2a.resource`',
      }),
    ),
  ),
  tenant: Type.Optional(
    Type.String({
      pattern: tenantPattern,
      'x-allowed': 'lowercase letters, digits, _ and -, at most 63',
      description: 'tenant of all its tokens, which need no claim for it then',
    }),
  ),
  tenantClaim: Type.Optional(
    text(
      'claim with the tenant; a path when it has dots (`org.id`) and no claim has the whole name. Default: `tenant`',
    ),
  ),
  tenantMap: Type.Optional(
    Type.Record(AnyKey, Type.String({ pattern: tenantPattern, description: 'a tenant' }), {
      minProperties: 1,
      description:
        'tenant for each value of `tenantClaim`; a token with another value is refused. Default: the value is the name of the tenant',
    }),
  ),
  roles: Type.Optional(
    Type.Array(role, {
      maxItems: 64,
      description: 'roles of all its tokens; `operator` makes each of them an operator',
    }),
  ),
  rolesClaim: Type.Optional(
    text(
      'claim with a list of roles, or one text of them with spaces between; a path like `tenantClaim`. Default: `roles`',
    ),
  ),
  rolesMap: Type.Optional(
    Type.Record(AnyKey, Type.Array(role, { maxItems: 64, description: 'roles' }), {
      minProperties: 1,
      description:
        'roles for each value of `rolesClaim`; other values grant none. Default: the values are the roles',
    }),
  ),
  profile: oneOf(['A2A-Basic', 'A2A-External'], {
    description: 'whether its programs must sign every envelope',
    default: 'A2A-Basic',
  }),
});

const agentOutside = record('agents outside under one URL', {
  url: Type.String({
    pattern: '^https?://[^\\s/@?#]+(/[^\\s?#]*)?$',
    'x-allowed': 'an http:// or https:// URL',
    description: 'base of their URLs: this URL, or a path below it',
  }),
  tenant: Type.String({
    minLength: 1,
    default: 'default',
    description:
      'tenant of the tasks; a client that registers agents there can make this gateway call these URLs',
  }),
  token: secret('token that they are asked with; a JWT’s `sub`, `tenant` and `roles` are who asks'),
});

const perMinute = (value: number, whose: string) =>
  Type.Integer({
    minimum: 1,
    maximum: 100_000_000,
    default: value,
    description: `envelopes per minute of ${whose}`,
  });

const quota = section('how much may come; of all gateways together', {
  principalPerMinute: applied('process', perMinute(30_000, 'one principal')),
  externalPerMinute: applied('process', perMinute(3_000, 'one principal under A2A-External')),
  tenantPerMinute: applied('process', perMinute(300_000, 'one tenant')),
  tasksMax: applied(
    'process',
    Type.Integer({
      minimum: 100,
      maximum: 1_000_000_000,
      default: 5_000_000,
      description:
        'tasks of one tenant that are remembered, for 28 hours each; at the limit new ones are refused',
    }),
  ),
  runningMax: applied(
    'process',
    Type.Integer({
      minimum: 1,
      maximum: 2_048,
      default: 1_024,
      description:
        'effects of one tenant, such as calls of models and tools, that one process runs at once (2,048 of all tenants together); more wait',
    }),
  ),
});

const outstanding = section('what may be under way at one gateway, each way', {
  messages: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 5_000,
    description: 'envelopes that are not answered yet; what comes beyond is refused',
  }),
  bytes: Type.Integer({
    minimum: 1_048_576,
    maximum: 4_294_967_296,
    default: 67_108_864,
    description: 'bytes of them together',
  }),
});

const s3 = record('an S3-compatible store', {
  endpoint: Type.String({
    pattern: '^https?://[^\\s/?#@]+(/[^\\s?#]*)?$',
    'x-allowed': 'an http:// or https:// URL without a user name or password',
    description: 'where it is; the bucket is put behind it as a folder',
  }),
  region: Type.String({ minLength: 1, default: 'us-east-1', description: 'region to sign for' }),
  bucket: text('the one bucket that is used'),
  accessKeyId: secret('name of the access key'),
  secretAccessKey: secret('the access key'),
  encryption: oneOf(['aws:kms', 'AES256', 'none'], {
    description:
      'what the store is asked to seal files with: `aws:kms` with a key of yours, `AES256` with one of its own. `troupe doctor` refuses anything but `aws:kms` with `kmsKeyId` where other machines connect; on Google Cloud Storage set `none` and give the bucket a default key',
    default: 'aws:kms',
  }),
  kmsKeyId: Type.Optional(text('your key, for `aws:kms`; left out: a key of the store')),
});

const artifacts = section('files that are too large for an envelope, and evidence', {
  path: Type.Optional(
    text(
      'folder of the files, or a shared volume. Default: `artifacts` in the data folder; in a cluster the blobs of the cluster',
    ),
  ),
  encryptionKey: Type.Optional(
    secret(
      'seals the files at rest: 32 bytes as 64 hex digits or base64. Default: not sealed in a folder; sealed with the cluster’s key in a cluster',
    ),
  ),
  s3: Type.Optional(s3),
  locality: Type.Optional(text('where the files are kept. Default: `a2a.locality`')),
  bytesMax: applied(
    'process',
    Type.Integer({
      minimum: 1_048_576,
      maximum: 1_125_899_906_842_624,
      default: 10_737_418_240,
      description:
        'bytes of the files of one tenant in a folder or a cluster; what comes beyond is refused. Of a store: by its own means',
    }),
  ),
  // Read by the next sweep.
  keepDays: applied(
    'process',
    Type.Integer({
      minimum: 0,
      maximum: 36_500,
      default: 90,
      description:
        'days after which a file is removed unless it was stored or signed again; 0: never. `retention.artifacts` replaces it. Evidence names its files for 30 days. Of a store: by its lifecycle rules',
    }),
  ),
  mimeTypes: Type.Array(Type.String({ pattern: '^[a-z0-9.+-]+/[a-z0-9.+*-]+$' }), {
    minItems: 1,
    default: [
      'application/json',
      'application/pdf',
      'application/octet-stream',
      'text/plain',
      'text/csv',
      'text/markdown',
      'image/png',
      'image/jpeg',
      'image/webp',
      'audio/mpeg',
      'audio/wav',
    ],
    description: 'types that are taken',
  }),
});

export const a2aSection = section(
  'the entry point for other programs: envelopes over HTTP and NATS',
  {
    enabled: Type.Boolean({ default: true, description: 'whether there is one' }),
    resource: Type.String({
      minLength: 1,
      default: 'urn:troupe:a2a',
      description: 'name of this entry point in tokens (`aud`, RFC 8707)',
    }),
    publicUrl: Type.Optional(
      Type.String({
        pattern: '^https?://[^\\s/]+(/[^\\s]*)?$',
        'x-allowed': 'an http:// or https:// URL',
        description: 'where others reach this gateway. Default: where it listens',
      }),
    ),
    issuers: Type.Array(issuer, {
      default: [],
      description:
        'whose tokens are accepted, besides the gateway’s own token and those that `troupe token` makes',
    }),
    locality: Type.Optional(
      text(
        'where this process is, as `asia-southeast1`; envelopes for a place that is not among these are refused',
      ),
    ),
    localities: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      description:
        'further places whose data this cell may take; the work for one runs on workers with that `a2a.locality`',
    }),
    quota,
    outstanding: applied('process', outstanding),
    artifacts,
    sealingKeyFile: Type.Optional(
      text(
        'private key (JWK) that sensitive payloads are sealed to. Default: one in the data folder, the cluster’s in a cluster',
      ),
    ),
    signingKeyFile: Type.Optional(
      text(
        'private key (JWK, Ed25519) that envelopes to agents outside are signed with. Default: one in the data folder, the cluster’s in a cluster',
      ),
    ),
    agentsOutside: Type.Array(agentOutside, {
      default: [],
      description: 'how agents outside that want to know who comes are asked',
    }),
    agents: Type.Array(oneOf(['factory', 'conformance'], { description: 'a set of them' }), {
      default: ['factory', 'conformance'],
      description:
        'shipped agents that serve: `factory` (Process, Data, Verifier, Notifier) and `conformance` (called by `troupe conformance`; offered to the tenant `conformance` only)',
    }),
    messagesFrom: oneOf(['none', 'operators', 'all'], {
      description:
        'who may send messages to agents with the action `agents.send_message`, over envelopes, MCP and A2A: no program, operators, or every principal of the tenant',
      default: 'operators',
    }),
    metricsPort: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 65_535,
        description:
          'port on which a worker serves `/metrics`; a gateway serves it on its own port',
      }),
    ),
  },
);
