/**
 * The configuration's sections for a cluster: how to reach NATS, and what this process is in it.
 * `troupe start` without `--nats` reads neither.
 */
import { Type } from '@sinclair/typebox';
import { labelsOf, record, secret, section } from './fields.ts';

/** What a server's address looks like; user and password have keys of their own. */
const serverUrl = Type.String({ pattern: '^(nats|tls)://[^\\s/,]+/?$' });

const tls = record('encrypt the connection; `{}` checks the server by the certificates of Node', {
  caFile: Type.Optional(
    Type.String({ minLength: 1, description: 'CA certificates that verify the server, PEM' }),
  ),
  certFile: Type.Optional(
    Type.String({ minLength: 1, description: 'certificate of this client, PEM' }),
  ),
  keyFile: Type.Optional(Type.String({ minLength: 1, description: 'its private key, PEM' })),
});

export const natsSection = section('the NATS servers of a cluster', {
  url: Type.Optional(
    Type.Unsafe<string | readonly string[]>(
      Type.Union([serverUrl, Type.Array(serverUrl, { minItems: 1, maxItems: 64 })], {
        'x-allowed': 'nats://host:port or tls://host:port, or a list of them',
        description: 'one server or several of one NATS cluster',
      }),
    ),
  ),
  user: Type.Optional(Type.String({ minLength: 1, description: 'user name' })),
  password: Type.Optional(secret('the password of `nats.user`')),
  token: Type.Optional(secret('token, instead of a user')),
  credentialsFile: Type.Optional(
    Type.String({ minLength: 1, description: 'credentials file of `nsc` (.creds)' }),
  ),
  nkeySeedFile: Type.Optional(
    Type.String({ minLength: 1, description: 'file with the seed of an NKey' }),
  ),
  tls: Type.Optional(tls),
  replicas: Type.Unsafe<1 | 3 | 5>(
    Type.Union([Type.Literal(1), Type.Literal(3), Type.Literal(5)], {
      default: 1,
      description:
        'number of servers that store each message; more than 1 requires as many servers of version 2.11 or newer',
    }),
  ),
  storageBytes: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'bytes that the servers may store in JetStream (`max_file_store`), for the metric of the limit; default: the limit of the account',
    }),
  ),
  env: Type.String({
    pattern: '^[A-Za-z0-9_-]{1,32}$',
    'x-allowed': 'letters, digits, _ and -, at most 32',
    default: 'main',
    description: 'name of the cluster: several of different names can share the NATS servers',
  }),
});

export const clusterSection = section('this process among the others of a cluster', {
  shards: Type.Integer({
    minimum: 1,
    maximum: 1_024,
    default: 64,
    description: 'parts that the actors are spread over; fixed when the cluster is made',
  }),
  name: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9][a-z0-9_-]{0,62}$',
      'x-allowed': 'small letters, digits, _ and -, at most 63',
      description:
        'name of this process, the same after a restart and different from every other’s. ' +
        'Default: the host name and a mark of the data folder; a second one there adds -2 and so on',
    }),
  ),
  secret: Type.Optional(
    secret(
      'join secret of the cluster, at least 12 characters: processes on several machines get the ' +
        'cluster’s keys with it. Not needed where all use one data folder',
    ),
  ),
  weight: Type.Number({
    minimum: 0.1,
    maximum: 100,
    default: 1,
    description: 'share of the shards that a worker takes, against the other workers’ weights',
  }),
  labels: labelsOf(
    'what is special about this worker, as `{ disk: "fast" }`: work that needs it runs here',
  ),
  drainSeconds: Type.Integer({
    minimum: 1,
    maximum: 3_600,
    default: 25,
    description: 'how long a stopping worker may hand its shards over',
  }),
  warmCopies: Type.Integer({
    minimum: 0,
    maximum: 3,
    default: 1,
    description:
      'how many other workers keep the rows of each shard, so that one of them takes it over at once ' +
      'when its owner dies. A copy takes disk and processor time; 0: none. The same on every worker',
  }),
});
