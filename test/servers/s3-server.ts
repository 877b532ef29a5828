/**
 * A local S3-compatible store for tests with one bucket. It has PUT (also conditional), GET (also
 * of a range), HEAD and DELETE of objects, uploads in parts, lists in pages of three, and the
 * bucket settings as S3 or Google Cloud Storage returns them. It verifies the signature (sigv4.ts)
 * and the signed body of every request. A test can plan failures, each of which occurs once.
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Scope, scopeOf, type SignedRequest, signatureOf } from './sigv4.ts';

export type Fault =
  | { readonly kind: 'refuse'; readonly status: number; readonly code: string }
  /** the socket is closed before the response */
  | { readonly kind: 'cut' }
  /** there is no response */
  | { readonly kind: 'silent' };

export type StoredObject = {
  body: Buffer;
  headers: Record<string, string>;
  /** of an answer; default 200 */
  status?: number;
};

/** Settings of the bucket, and what its policy permits. A test may change them. */
export type Bucket = {
  dialect: 's3' | 'google' | 'other';
  ownership: 'BucketOwnerEnforced' | 'ObjectWriter' | undefined;
  publicAccessBlock: Record<string, boolean> | undefined;
  uniformAccess: boolean;
  /** the access key may list the bucket, and so sees which objects are absent */
  listing: boolean;
  /** the access key may read the settings */
  readable: boolean;
  /** requests without a signature are accepted */
  anonymous: boolean;
  /** encryption of stored objects, whatever the request says */
  encryption: Record<string, string> | undefined;
};

const SAFE: Bucket = {
  dialect: 's3',
  ownership: 'BucketOwnerEnforced',
  publicAccessBlock: {
    BlockPublicAcls: true,
    IgnorePublicAcls: true,
    BlockPublicPolicy: true,
    RestrictPublicBuckets: true,
  },
  uniformAccess: true,
  listing: false,
  readable: true,
  anonymous: false,
  encryption: undefined,
};

export type S3Server = {
  readonly settings: Bucket;
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** by key */
  readonly objects: Map<string, StoredObject>;
  /** `METHOD /path` of each request, with the names of its query parameters */
  readonly requests: string[];
  /** used one by one, before the request is examined */
  readonly faults: Fault[];
  close(): Promise<void>;
};

const ACCOUNT = { accessKeyId: 'TESTACCESSKEY', secretAccessKey: 'test/secret+access=key' };
const REGION = 'eu-central-1';
const BUCKET = 'artifacts';
const SKEW_MS = 900_000;
const KEPT = [
  'content-type',
  'x-amz-meta-sha256',
  'x-amz-server-side-encryption',
  'x-amz-server-side-encryption-aws-kms-key-id',
  'x-amz-checksum-sha256',
];

class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

export async function startS3Server(): Promise<S3Server> {
  const settings = structuredClone(SAFE);
  const objects = new Map<string, StoredObject>();
  const uploads: Store['uploads'] = new Map();
  const requests: string[] = [];
  const faults: Fault[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url!.replaceAll(/=[^&]*/g, '')}`);
    const fault = faults.shift();
    if (fault?.kind === 'silent') return;
    if (fault?.kind === 'cut') request.socket.destroy();
    else
      serve(request, { objects, settings, uploads }, fault).then(
        (object) => send(request, response, object),
        (error: unknown) => refuse(request, response, error),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    bucket: BUCKET,
    region: REGION,
    ...ACCOUNT,
    settings,
    objects,
    requests,
    faults,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Store = {
  objects: Map<string, StoredObject>;
  settings: Bucket;
  /** uploads in parts, by id */
  uploads: Map<string, Map<number, Buffer>>;
};

async function serve(
  request: IncomingMessage,
  store: Store,
  fault: Fault | undefined,
): Promise<StoredObject> {
  const { objects, settings } = store;
  const body = await bodyOf(request);
  if (fault?.kind === 'refuse') throw new Refusal(fault.status, fault.code);
  const unsigned = !request.headers.authorization && !request.url!.includes('X-Amz-Signature');
  if (!(unsigned && settings.anonymous && request.method === 'GET')) checkSigned(request, body);
  const [, bucket, ...rest] = request.url!.split('?', 1)[0]!.split('/');
  const key = decodeURIComponent(rest.join('/'));
  if (bucket !== BUCKET) throw new Refusal(404, 'NoSuchBucket');
  const query = request.url!.split('?')[1] ?? '';
  if (key === '' && settings.listing && query.startsWith('list-type=2'))
    return listOf(objects, new URLSearchParams(query));
  if (key === '') return bucketAnswer(query, settings, unsigned);
  const upload = uploadAnswer(store, { method: request.method!, key, query, body });
  if (upload) return upload;
  if (request.method === 'DELETE') {
    objects.delete(key);
    return { body: Buffer.alloc(0), headers: {}, status: 204 };
  }
  if (request.method === 'PUT') {
    const headers = Object.fromEntries(
      KEPT.flatMap((name) =>
        request.headers[name] ? [[name, String(request.headers[name])]] : [],
      ),
    );
    if (request.headers['if-none-match'] === '*' && objects.has(key))
      throw new Refusal(412, 'PreconditionFailed');
    objects.set(key, { body, headers: { ...headers, ...settings.encryption } });
    return { body: Buffer.alloc(0), headers: {} };
  }
  const object = objects.get(key);
  const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
  if (object && range)
    return {
      ...object,
      body: object.body.subarray(Number(range[1]), Number(range[2]) + 1),
      status: 206,
    };
  if (object) return object;
  throw settings.listing ? new Refusal(404, 'NoSuchKey') : new Refusal(403, 'AccessDenied');
}

const PAGE = 3;

/** A page of a list; the token is the last key. */
function listOf(objects: Store['objects'], query: URLSearchParams): StoredObject {
  const after = query.get('continuation-token') ?? '';
  const keys = [...objects.keys()]
    .filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after)
    .sort();
  const page = keys.slice(0, PAGE).map((key) => {
    const size = objects.get(key)!.body.length;
    return `<Contents><Key>${key.replaceAll('&', '&amp;')}</Key><Size>${size}</Size></Contents>`;
  });
  const next = keys.length > PAGE ? `<NextContinuationToken>${keys[PAGE - 1]}` : '';
  const more = next && `${next}</NextContinuationToken>`;
  return answerOf(`<ListBucketResult>${page.join('')}${more}</ListBucketResult>`);
}

/** Undefined for a request that is not about an upload in parts. */
function uploadAnswer(
  { objects, uploads }: Store,
  { method, key, query, body }: { method: string; key: string; query: string; body: Buffer },
): StoredObject | undefined {
  const given = new URLSearchParams(query);
  if (method === 'POST' && given.has('uploads')) {
    const id = `upload+${uploads.size}`;
    uploads.set(id, new Map());
    return answerOf(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId>`);
  }
  const id = given.get('uploadId');
  if (id === null) return undefined;
  const parts = uploads.get(id);
  if (!parts) throw new Refusal(404, 'NoSuchUpload');
  if (method === 'PUT') {
    parts.set(Number(given.get('partNumber')), body);
    return { body: Buffer.alloc(0), headers: { etag: `"${id}"` } };
  }
  uploads.delete(id);
  if (method === 'DELETE') return { body: Buffer.alloc(0), headers: {}, status: 204 };
  const numbers = [...body.toString().matchAll(/<PartNumber>(\d+)</g)].map(([, n]) => Number(n));
  const whole = Buffer.concat(numbers.map((n) => parts.get(n)!));
  objects.set(key, { body: whole, headers: {} });
  return answerOf('<CompleteMultipartUploadResult>');
}

/** Returns the settings of the bucket, or a listing. */
function bucketAnswer(query: string, settings: Bucket, unsigned: boolean): StoredObject {
  const [name = ''] = query.split(/[=&]/);
  const { dialect, ownership, publicAccessBlock } = settings;
  if (name === 'ownershipControls' || name === 'publicAccessBlock') {
    if (dialect === 'other') throw new Refusal(501, 'NotImplemented');
    if (!settings.readable) throw new Refusal(403, 'AccessDenied');
  }
  if (name === 'ownershipControls') {
    if (!ownership) throw new Refusal(404, 'OwnershipControlsNotFoundError');
    return answerOf(
      `<OwnershipControls><Rule><ObjectOwnership>${ownership}</ObjectOwnership></Rule>`,
    );
  }
  if (name === 'publicAccessBlock') {
    if (!publicAccessBlock) throw new Refusal(404, 'NoSuchPublicAccessBlockConfiguration');
    const flags = Object.entries(publicAccessBlock).map(([flag, on]) => `<${flag}>${on}</${flag}>`);
    return answerOf(`<PublicAccessBlockConfiguration>${flags.join('')}`);
  }
  if (name === 'acl') {
    if (!settings.readable) throw new Refusal(403, 'AccessDenied');
    if (settings.uniformAccess) throw new Refusal(400, 'InvalidArgument');
    return answerOf('<AccessControlList>');
  }
  if (!settings.listing && !unsigned) throw new Refusal(403, 'AccessDenied');
  return answerOf('<ListBucketResult>');
}

const answerOf = (text: string): StoredObject => ({ body: Buffer.from(text), headers: {} });

/** Checks the signature, its time, and that all important headers are signed. */
function checkSigned(request: IncomingMessage, body: Buffer): void {
  const signed: SignedRequest = {
    method: request.method!,
    target: request.url!,
    headers: request.headers as Record<string, string>,
  };
  const scope = scopeOf(signed);
  if (!scope) throw new Refusal(403, 'AccessDenied');
  if (scope.accessKeyId !== ACCOUNT.accessKeyId) throw new Refusal(403, 'InvalidAccessKeyId');
  if (scope.region !== REGION || scope.service !== 's3' || !scope.datetime.startsWith(scope.date))
    throw new Refusal(400, 'AuthorizationHeaderMalformed');
  checkTime(scope);
  const unsigned = Object.keys(request.headers).filter(
    (name) => (name.startsWith('x-amz-') || name === 'host') && !scope.signedHeaders.includes(name),
  );
  if (unsigned.length > 0) throw new Refusal(403, 'AccessDenied');
  if (signatureOf(signed, scope, ACCOUNT.secretAccessKey) !== scope.signature)
    throw new Refusal(403, 'SignatureDoesNotMatch');
  if (scope.expires === undefined) checkBody(request, body);
}

function checkTime({ datetime, expires }: Scope): void {
  const at = Date.parse(
    datetime.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'),
  );
  if (Number.isNaN(at)) throw new Refusal(403, 'AccessDenied');
  if (expires === undefined) {
    if (Math.abs(Date.now() - at) > SKEW_MS) throw new Refusal(403, 'RequestTimeTooSkewed');
  } else if (!(expires > 0 && expires <= 604_800) || Date.now() > at + expires * 1_000) {
    throw new Refusal(403, 'AccessDenied');
  }
}

function checkBody({ headers, method }: IncomingMessage, body: Buffer): void {
  const hash = createHash('sha256').update(body).digest();
  const said = headers['x-amz-content-sha256'];
  // The bucket's policy accepts only signed content, by a condition on s3:x-amz-content-sha256.
  if (method === 'PUT' && said === 'UNSIGNED-PAYLOAD') throw new Refusal(403, 'AccessDenied');
  if (said !== 'UNSIGNED-PAYLOAD' && said !== hash.toString('hex'))
    throw new Refusal(400, 'XAmzContentSHA256Mismatch');
  const checksum = headers['x-amz-checksum-sha256'];
  if (checksum !== undefined && checksum !== hash.toString('base64'))
    throw new Refusal(400, 'BadDigest');
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function send(request: IncomingMessage, response: ServerResponse, object: StoredObject): void {
  response.writeHead(object.status ?? 200, {
    ...object.headers,
    'content-length': object.body.length,
  });
  response.end(request.method === 'HEAD' ? undefined : object.body);
}

function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  const { status, code } = error instanceof Refusal ? error : new Refusal(500, 'InternalError');
  response.writeHead(status, { 'content-type': 'application/xml' });
  const xml = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code></Error>`;
  response.end(request.method === 'HEAD' ? undefined : xml);
}
