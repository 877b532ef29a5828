/**
 * Requirements for an S3-compatible bucket of an installation that other machines use: encryption
 * with a customer's key, access by policy only (no ACLs), nothing public, and no listing. Each
 * point is verified with requests to the store. One small probe object per key is written and
 * stays.
 */
import { createHash } from 'node:crypto';
import { errorData } from '../../protocols/errors.ts';
import type { Clock } from '../clock/clock.ts';
import { type S3Sealing, sealingHeaders } from './s3.ts';
import { PROBES, type S3Answer, type S3Place, S3Requests } from './s3-requests.ts';

export type BucketCheckOptions = S3Place &
  S3Sealing & {
    /** Google Cloud Storage has its own names for uniform access and for keys */
    readonly google: boolean;
    readonly clock: Clock;
    readonly timeoutMs: number;
  };

/** `unknown`: the store has no such setting. `remedy` is left out where nothing is to be done. */
export type BucketPoint = {
  readonly status: 'ok' | 'fail' | 'unknown';
  readonly message: string;
  readonly remedy?: string;
};

const PUBLIC_ACCESS_FLAGS = [
  'BlockPublicAcls',
  'IgnorePublicAcls',
  'BlockPublicPolicy',
  'RestrictPublicBuckets',
] as const;
const LISTING = '?list-type=2&max-keys=1';

export async function* checkBucket(options: BucketCheckOptions): AsyncGenerator<BucketPoint> {
  const requests = new S3Requests(options);
  const probe = probeOf(options);
  try {
    await writeProbe(requests, probe, options);
    yield encryptionPoint(await requests.send(probe.key, { method: 'GET' }), options);
  } catch (error) {
    yield refused('a probe object cannot be written and read', error, 'see the message');
    if (errorData(error).details?.['status'] === 0) return;
  }
  if (options.google) {
    yield await uniformAccess(requests);
  } else {
    yield await ownership(requests);
    yield await publicAccess(requests);
  }
  yield await noListing(requests);
  yield await noAnonymous(requests, probe.key);
}

/** Its name depends on the key, so that a probe of an earlier configuration proves nothing. */
function probeOf({ encryption, kmsKeyId = '' }: S3Sealing) {
  const body = Buffer.from(`probe of troupe doctor: ${encryption} ${kmsKeyId}\n`);
  const hash = createHash('sha256').update(body).digest('hex');
  return { key: `${PROBES}/${hash}`, body, hash };
}

/** A conditional write: a probe that is there already is left as it is. */
async function writeProbe(
  requests: S3Requests,
  { key, body, hash }: ReturnType<typeof probeOf>,
  options: S3Sealing,
): Promise<void> {
  const headers = {
    'content-type': 'text/plain',
    'if-none-match': '*',
    'x-amz-content-sha256': hash,
    'x-amz-meta-sha256': hash,
    ...sealingHeaders(options),
  };
  try {
    await requests.send(key, { method: 'PUT', body, headers });
  } catch (error) {
    const status = errorData(error).details?.['status'];
    if (status !== 412 && status !== 409) throw error;
  }
}

function encryptionPoint(answer: S3Answer | undefined, options: BucketCheckOptions): BucketPoint {
  const googleKey = answer?.headers.get('x-goog-encryption-kms-key-name');
  const amazonKey = answer?.headers.get('x-amz-server-side-encryption-aws-kms-key-id');
  const used = options.google ? googleKey : amazonKey;
  if (used && (options.google || isKey(used, options.kmsKeyId)))
    return { status: 'ok', message: `the store encrypts with ${used}` };
  return {
    status: 'fail',
    message: `the store encrypts a file with ${used ?? 'no key of yours'}`,
    remedy: options.google
      ? 'give the bucket a default Cloud KMS key'
      : 'set a2a.artifacts.s3.encryption to "aws:kms" and kmsKeyId to a key that the store uses',
  };
}

/** The store names a key by its ARN; a configured alias has no visible relation to it. */
const isKey = (used: string, configured = ''): boolean =>
  configured.includes('alias/') || used === configured || used.endsWith(`/${configured}`);

async function ownership(requests: S3Requests): Promise<BucketPoint> {
  return setting(requests, 'ownershipControls', {
    permission: 's3:GetBucketOwnershipControls',
    point: (text) =>
      text.includes('<ObjectOwnership>BucketOwnerEnforced</ObjectOwnership>')
        ? { status: 'ok', message: 'the bucket owner owns every object, ACLs have no effect' }
        : {
            status: 'fail',
            message: 'object ownership is not enforced: ACLs can open single objects',
            remedy: 'set Object Ownership of the bucket to BucketOwnerEnforced',
          },
  });
}

async function publicAccess(requests: S3Requests): Promise<BucketPoint> {
  return setting(requests, 'publicAccessBlock', {
    permission: 's3:GetBucketPublicAccessBlock',
    point: (text) => {
      const off = PUBLIC_ACCESS_FLAGS.filter((flag) => !text.includes(`<${flag}>true</${flag}>`));
      return off.length === 0
        ? { status: 'ok', message: 'public access to the bucket is blocked' }
        : {
            status: 'fail',
            message: `public access to the bucket is not blocked: ${off.join(', ')}`,
            remedy: 'turn on all four settings of Block Public Access',
          };
    },
  });
}

async function setting(
  requests: S3Requests,
  name: string,
  read: { permission: string; point: (text: string) => BucketPoint },
): Promise<BucketPoint> {
  try {
    const answer = await requests.send(`?${name}`, { method: 'GET' });
    return read.point(answer ? new TextDecoder().decode(answer.body) : '');
  } catch (error) {
    const { details } = errorData(error);
    if (details?.['status'] === 501 || details?.['status'] === 405) {
      return {
        status: 'unknown',
        message: `the store has no ${name}`,
        remedy: 'verify in the settings of the store that only a bucket policy grants access',
      };
    }
    return refused(`${name} cannot be read`, error, `permit ${read.permission} on the bucket`);
  }
}

/** With uniform bucket-level access Google refuses every request for an ACL with status 400. */
async function uniformAccess(requests: S3Requests): Promise<BucketPoint> {
  try {
    await requests.send('?acl', { method: 'GET' });
  } catch (error) {
    if (errorData(error).details?.['status'] === 400)
      return { status: 'ok', message: 'uniform bucket-level access is on' };
    return refused('the ACL cannot be read', error, 'permit storage.buckets.getIamPolicy');
  }
  return {
    status: 'fail',
    message: 'uniform bucket-level access is off: ACLs can open single objects',
    remedy: 'turn on uniform bucket-level access and public access prevention',
  };
}

async function noListing(requests: S3Requests): Promise<BucketPoint> {
  try {
    await requests.send(LISTING, { method: 'GET' });
  } catch (error) {
    if (errorData(error).details?.['status'] === 403)
      return { status: 'ok', message: 'the access key cannot list the bucket' };
    return refused(
      'a listing of the bucket fails with an unexpected error',
      error,
      'see the message',
    );
  }
  return {
    status: 'fail',
    message: 'the access key can list the bucket',
    remedy: 'permit it to read and write objects only, without s3:ListBucket',
  };
}

async function noAnonymous(requests: S3Requests, probeKey: string): Promise<BucketPoint> {
  const open: string[] = [];
  try {
    if ((await requests.anonymousStatus(LISTING)) === 200) open.push('list the bucket');
    if ((await requests.anonymousStatus(probeKey)) === 200) open.push('read its files');
  } catch (error) {
    return refused('access without a signature cannot be tested', error, 'see the message');
  }
  if (open.length === 0)
    return { status: 'ok', message: 'the bucket refuses requests without a signature' };
  return {
    status: 'fail',
    message: `anyone can ${open.join(' and ')}`,
    remedy: 'remove public grants from the bucket and its policy',
  };
}

const refused = (what: string, error: unknown, remedy: string): BucketPoint => ({
  status: 'fail',
  message: `${what}: ${errorData(error).message}`,
  remedy,
});
