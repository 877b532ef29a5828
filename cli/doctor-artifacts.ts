/**
 * What `troupe doctor` asks of the bucket of artifacts (EN10). On one machine for itself anything
 * goes; where others come in, files are sealed at rest, and travel to a store under TLS.
 */
import { artifactsFolder } from '../compose/artifacts.ts';
import { errorData } from '../protocols/errors.ts';
import { sealingKey } from '../runtime/artifacts/sealed-file.ts';
import { bindHost, type Config, natsServers } from '../runtime/config/index.ts';
import type { Finding } from './doctor.ts';
import { fail, ok } from './doctor-checks.ts';

const CHECK = 'artifacts';
const LOOPBACK = /^(127\.\d+\.\d+\.\d+|localhost|\[?::1\]?)$/;
type Store = NonNullable<Config['a2a']['artifacts']['s3']>;

export function artifactStore(config: Config): readonly Finding[] {
  const { enabled, artifacts } = config.a2a;
  if (!enabled) return [];
  const { s3 } = artifacts;
  const faults = [...(s3 ? wrongInStore(s3, config) : wrongInFolder(config))];
  if (faults.length > 0) return faults;
  if (s3) return [ok(CHECK, `${s3.endpoint}, bucket ${s3.bucket}`)];
  const sealed = artifacts.encryptionKey ? 'sealed' : 'not sealed: only this machine comes in';
  return [ok(CHECK, `${artifactsFolder(config)}, ${sealed}`)];
}

function* wrongInStore({ encryption, endpoint }: Store, config: Config): Generator<Finding> {
  if (!othersCome(config)) return;
  if (encryption === 'none') {
    yield fail(
      CHECK,
      'a2a.artifacts.s3.encryption is "none": files would lie in the store in clear',
      'set it to "aws:kms", with kmsKeyId for a key of yours, or to "AES256"',
    );
  }
  const { protocol, hostname } = new URL(endpoint);
  if (protocol === 'http:' && !LOOPBACK.test(hostname)) {
    yield fail(
      CHECK,
      `a2a.artifacts.s3.endpoint is ${endpoint}: files would travel in clear`,
      'set an https:// URL',
    );
  }
}

function* wrongInFolder(config: Config): Generator<Finding> {
  const { encryptionKey } = config.a2a.artifacts;
  if (!encryptionKey) {
    if (!othersCome(config)) return;
    yield fail(
      CHECK,
      `others come in, and files would lie in clear in ${artifactsFolder(config)}`,
      'set a2a.artifacts.encryptionKey, made by `openssl rand -hex 32`, or a2a.artifacts.s3',
    );
    return;
  }
  try {
    sealingKey(encryptionKey.reveal());
  } catch (error) {
    yield fail(CHECK, errorData(error).message, 'set such a key');
  }
}

/** Whether anybody but this machine comes in: by the gateway's port, or by NATS. */
const othersCome = (config: Config): boolean =>
  !LOOPBACK.test(bindHost(config)) || natsServers(config.nats).length > 0;
