/**
 * AWS Signature Version 4 on the store's side: the expected signature of a request. Written from
 * the Amazon S3 API Reference ("Authenticating Requests"), independent of the code under test.
 */
import { createHash, createHmac } from 'node:crypto';

export type SignedRequest = {
  readonly method: string;
  /** as on the request line: path and query, still encoded */
  readonly target: string;
  /** by lower-case name */
  readonly headers: Readonly<Record<string, string | undefined>>;
};

export type Scope = {
  readonly accessKeyId: string;
  readonly date: string;
  readonly region: string;
  readonly service: string;
  readonly signedHeaders: readonly string[];
  readonly datetime: string;
  readonly signature: string;
  /** seconds; only for a presigned URL */
  readonly expires?: number;
};

const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const hmac = (key: string | Buffer, text: string) =>
  createHmac('sha256', key).update(text).digest();

/** Encodes every byte except the unreserved characters of RFC 3986. */
const encode = (text: string): string =>
  [...Buffer.from(text)]
    .map((byte) => {
      const character = String.fromCodePoint(byte);
      return /[A-Za-z0-9\-._~]/.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');

const pairsOf = (target: string): [string, string][] => {
  const query = target.split('?').slice(1).join('?');
  if (query === '') return [];
  return query.split('&').map((pair) => {
    const [name = '', ...rest] = pair.split('=');
    return [decodeURIComponent(name), decodeURIComponent(rest.join('='))];
  });
};

/**
 * The signature information in the headers or the query of a request; undefined if neither has any.
 */
export function scopeOf({ headers, target }: SignedRequest): Scope | undefined {
  const query = new Map(pairsOf(target));
  const { authorization } = headers;
  if (query.has('X-Amz-Algorithm')) {
    return scoped(query.get('X-Amz-Credential'), {
      signedHeaders: (query.get('X-Amz-SignedHeaders') ?? '').split(';'),
      datetime: query.get('X-Amz-Date') ?? '',
      signature: query.get('X-Amz-Signature') ?? '',
      expires: Number(query.get('X-Amz-Expires')),
    });
  }
  const parts =
    /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      authorization ?? '',
    );
  if (!parts) return undefined;
  return scoped(parts[1], {
    signedHeaders: parts[2]!.split(';'),
    datetime: headers['x-amz-date'] ?? '',
    signature: parts[3]!,
  });
}

function scoped(
  credential = '',
  rest: Omit<Scope, 'accessKeyId' | 'date' | 'region' | 'service'>,
): Scope | undefined {
  const [accessKeyId, date, region, service, end] = credential.split('/');
  if (!accessKeyId || !date || !region || !service || end !== 'aws4_request') return undefined;
  return { accessKeyId, date, region, service, ...rest };
}

/** The signature that the request must have. */
export function signatureOf(request: SignedRequest, scope: Scope, secretAccessKey: string): string {
  const { date, region, service, datetime } = scope;
  const text = [
    'AWS4-HMAC-SHA256',
    datetime,
    `${date}/${region}/${service}/aws4_request`,
    sha256(canonicalRequest(request, scope)),
  ].join('\n');
  const key = [date, region, service, 'aws4_request'].reduce<string | Buffer>(
    (made, part) => hmac(made, part),
    `AWS4${secretAccessKey}`,
  );
  return hmac(key, text).toString('hex');
}

function canonicalRequest({ method, target, headers }: SignedRequest, scope: Scope): string {
  const path = target.split('?', 1)[0]!;
  const query = pairsOf(target)
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .toSorted();
  const values = scope.signedHeaders.map(
    (name) => `${name}:${(headers[name] ?? '').trim().replaceAll(/ +/g, ' ')}\n`,
  );
  const presigned = scope.expires !== undefined;
  return [
    method,
    path
      .split('/')
      .map((part) => encode(decodeURIComponent(part)))
      .join('/'),
    query.join('&'),
    values.join(''),
    scope.signedHeaders.join(';'),
    presigned ? 'UNSIGNED-PAYLOAD' : (headers['x-amz-content-sha256'] ?? ''),
  ].join('\n');
}
