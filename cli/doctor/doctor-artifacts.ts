/**
 * The checks of `troupe doctor` on the artifact bucket. A single-machine installation may use any
 * bucket. A cluster stores files itself, encrypted, unless the configuration names another store.
 * Where other machines connect, a folder must be sealed. A remote store must use TLS, must encrypt
 * with a customer key, and must not permit ACLs, listing or public access.
 */
import { existsSync } from 'node:fs';
import {
  artifactsFolder,
  filesKeyFile,
  keepsFilesInCell,
} from '../../installation/artifact-bucket.ts';
import { errorData } from '../../protocols/errors.ts';
import { checkBucket } from '../../runtime/artifacts/bucket-checks.ts';
import { sealingKey } from '../../runtime/artifacts/sealed-file.ts';
import { systemClock } from '../../runtime/clock/clock.ts';
import { bindHost, type Config, natsServers } from '../../runtime/config/index.ts';
import { fail, type Finding, ok, warn } from './doctor-finding.ts';

const CHECK = 'artifacts';
const LOOPBACK = /^(127\.\d+\.\d+\.\d+|localhost|\[?::1\]?)$/;
type Store = NonNullable<Config['a2a']['artifacts']['s3']>;

/** Aliases of keys that AWS itself owns, for example `alias/aws/s3`. */
const AWS_MANAGED = /(^|:)alias\/aws\//;
const TIMEOUT_MS = 5_000;

export async function* artifactStore(config: Config): AsyncGenerator<Finding> {
  const { enabled, artifacts } = config.a2a;
  if (!enabled) return;
  const { s3, encryptionKey } = artifacts;
  if (s3) {
    yield* remoteStore(s3, config);
    return;
  }
  const faults = [...wrongInFolder(config)];
  yield* faults;
  if (faults.length > 0) return;
  if (isInCell(config)) {
    yield ok(CHECK, 'in the cluster, encrypted with its key');
    yield clusterKeys(config);
    return;
  }
  const sealed = encryptionKey ? 'sealed' : 'not sealed: only this machine connects';
  yield ok(CHECK, `${artifactsFolder(config)}, ${sealed}`);
}

/** Where this process reads the keys that it shares with the others. */
function clusterKeys({ home, cluster }: Config): Finding {
  const text = existsSync(filesKeyFile(home))
    ? `those in ${home}`
    : cluster.secret
      ? 'the first start reads them with the join secret'
      : 'the first process creates them; a process with another data folder needs TROUPE_CLUSTER_SECRET';
  return ok('cluster keys', text);
}

async function* remoteStore(store: Store, config: Config): AsyncGenerator<Finding> {
  if (!othersCome(config)) {
    yield ok(CHECK, `${store.endpoint}, bucket ${store.bucket}: only this machine connects`);
    return;
  }
  const faults = [...wrongInStore(store)];
  yield* faults;
  // No request is sent to a store that is not sealed or that is reached without TLS.
  if (faults.length > 0) return;
  const { accessKeyId, secretAccessKey, ...place } = store;
  const points = checkBucket({
    ...place,
    accessKeyId: accessKeyId.reveal(),
    secretAccessKey: secretAccessKey.reveal(),
    google: isGoogle(store),
    clock: systemClock,
    timeoutMs: TIMEOUT_MS,
  });
  for await (const { status, message, remedy } of points) {
    const text = `bucket ${store.bucket}: ${message}`;
    if (status === 'ok') yield ok(CHECK, text);
    else yield (status === 'fail' ? fail : warn)(CHECK, text, remedy ?? '');
  }
}

function* wrongInStore(store: Store): Generator<Finding> {
  const { encryption, kmsKeyId, endpoint } = store;
  if (!isGoogle(store) && (encryption !== 'aws:kms' || !kmsKeyId || AWS_MANAGED.test(kmsKeyId))) {
    yield fail(
      CHECK,
      encryption === 'aws:kms'
        ? `a2a.artifacts.s3.kmsKeyId is ${kmsKeyId ?? 'not set'}: the store would use its own key`
        : `a2a.artifacts.s3.encryption is "${encryption}": files are not sealed with your key`,
      'set encryption to "aws:kms" and kmsKeyId to your key',
    );
  }
  const { protocol, hostname } = new URL(endpoint);
  if (protocol === 'http:' && !LOOPBACK.test(hostname)) {
    yield fail(
      CHECK,
      `a2a.artifacts.s3.endpoint is ${endpoint}: files would be sent without encryption`,
      'set an https:// URL',
    );
  }
}

const isGoogle = ({ endpoint }: Store): boolean =>
  /(^|\.)storage\.googleapis\.com$/.test(new URL(endpoint).hostname);

function* wrongInFolder(config: Config): Generator<Finding> {
  const { encryptionKey } = config.a2a.artifacts;
  if (!encryptionKey) {
    if (!othersCome(config) || isInCell(config)) return;
    yield fail(
      CHECK,
      `other machines can connect, and files would be stored without encryption in ${artifactsFolder(config)}`,
      'set a2a.artifacts.encryptionKey, from `openssl rand -hex 32`, or a2a.artifacts.s3',
    );
    return;
  }
  try {
    sealingKey(encryptionKey.reveal());
  } catch (error) {
    yield fail(CHECK, errorData(error).message, 'set such a key');
  }
}

/** Whether other machines can connect: to the gateway's port, or over NATS. */
const othersCome = (config: Config): boolean =>
  !LOOPBACK.test(bindHost(config)) || joinsCluster(config);

const joinsCluster = ({ nats }: Config): boolean => natsServers(nats).length > 0;

const isInCell = (config: Config): boolean => joinsCluster(config) && keepsFilesInCell(config);
