/**
 * Requests to an S3-compatible store: signed (AWS Signature Version 4), bounded in time, retried
 * where that may help. Failures are errors of the taxonomy.
 *
 * Objects are addressed by path (`{endpoint}/{bucket}/{key}`), which every compatible store
 * supports.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { defined } from '../../protocols/defined.ts';
import { ERRORS, TroupeError } from '../../protocols/errors.ts';
import { abortableBody } from '../../protocols/time-limit.ts';
import type { Clock } from '../clock/clock.ts';
import { checkBytes } from './checks.ts';

export type S3Place = {
  /** `http(s)://host[:port][/path]`, without the bucket */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** of temporary keys */
  readonly sessionToken?: string;
};

/** The first part of the keys of probes, which are no tenant's files. */
export const PROBES = 'troupe-doctor';

export type S3RequestsOptions = S3Place & {
  /** what the store is for, in errors; default `the store of artifacts` */
  readonly store?: string;
  /** settings that name the bucket and its keys, in errors; default those of artifacts */
  readonly settings?: S3Settings;
  readonly clock: Clock;
  /** maximum time of one attempt until its response begins, and again until it has ended */
  readonly timeoutMs: number;
  /**
   * ends requests with CANCELLED, also those that begin later. A DELETE is sent nevertheless,
   * because it removes what they left: once, and for at most 5 s
   */
  readonly signal?: AbortSignal;
};

/** Names of settings. */
export type S3Settings = Readonly<
  Record<'bucket' | 'region' | 'accessKeyId' | 'secretAccessKey', string>
>;

type Init = {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
};
export type S3Listed = { readonly key: string; readonly bytes: number };
export type S3Answer = { readonly headers: Headers; readonly body: Uint8Array };

const ATTEMPTS_MAX = 3;
const BACKOFF_MS = 100;
const CLEANUP_MS = 5_000;
/** Statuses below 500 after which another attempt may succeed. */
const AGAIN: ReadonlySet<number> = new Set([408, 429]);
const DONE: ReadonlySet<number> = new Set([200, 204, 206]);
const WRITING: ReadonlySet<string> = new Set(['PUT', 'POST']);
const ERROR_BYTES_MAX = 65_536;
const NO_LIST = 'did not answer with a list of objects: check the endpoint';

export class S3Requests {
  readonly #options: S3RequestsOptions;
  readonly #keys = new Map<string, ArrayBuffer>();

  constructor(options: S3RequestsOptions) {
    this.#options = options;
  }

  /**
   * The answer of status 200, 204 or 206; undefined when there is no such object.
   * @throws TroupeError UNAVAILABLE that says what the store said; PAYLOAD_TOO_LARGE for an answer;
   * CANCELLED by `signal`
   */
  async send(key: string, init: Init): Promise<S3Answer | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(key, init);
      } catch (error) {
        const isEnded = this.#options.signal?.aborted === true;
        if (attempt === ATTEMPTS_MAX || isEnded || !mayHelpAgain(error)) throw error;
        await pause(Math.random() * BACKOFF_MS * 2 ** attempt);
      }
    }
  }

  /**
   * All objects whose key begins with the prefix, by key, page by page.
   * @throws TroupeError UNAVAILABLE; also for an answer that is no list, which would look empty
   */
  async *list(prefix: string): AsyncGenerator<readonly S3Listed[]> {
    for (let token: string | undefined = ''; token !== undefined; ) {
      const query = new URLSearchParams({ 'list-type': '2', prefix });
      if (token !== '') query.set('continuation-token', token);
      // Signatures are of %20, never of +.
      const text = query.toString().replaceAll('+', '%20');
      const answer = await this.send(`?${text}`, { method: 'GET' });
      const xml = Buffer.from(answer?.body ?? []).toString('utf8');
      if (!xml.includes('<ListBucketResult'))
        throw this.#unavailable(NO_LIST, { status: answer ? 200 : 404 });
      yield Array.from(xml.matchAll(/<Contents>(.*?)<\/Contents>/gs), ([, contents = '']) => ({
        key: elementOf(contents, 'Key'),
        bytes: Number(elementOf(contents, 'Size')),
      }));
      token = elementOf(xml, 'NextContinuationToken') || undefined;
    }
  }

  /** A signed URL of an object, for GET, good for `forSec` from `datetime` on. */
  async presign(key: string, { forSec, datetime }: { forSec: number; datetime: string }) {
    const url = this.#url(key);
    url.searchParams.set('X-Amz-Expires', String(forSec));
    url.searchParams.set('response-content-disposition', 'attachment');
    const signed = await this.#sign(url, { method: 'GET' }, { signQuery: true, datetime }).sign();
    return signed.url.toString();
  }

  /** The status of a GET without a signature, which is public access. */
  async anonymousStatus(key: string): Promise<number> {
    const signal = AbortSignal.timeout(this.#options.timeoutMs);
    try {
      const answer = await fetch(this.#url(key), { signal, redirect: 'manual' });
      await answer.body?.cancel();
      return answer.status;
    } catch (cause) {
      throw this.#unavailable(`cannot be reached (${reasonOf(cause)})`, { status: 0, cause });
    }
  }

  /** The current time in the format of signatures: 20260131T093000Z. */
  datetime(): string {
    const now = new Date(this.#options.clock.wallMs()).toISOString();
    return now.replaceAll(/[:-]|\.\d{3}/g, '');
  }

  async #once(key: string, init: Init): Promise<S3Answer | undefined> {
    const { signal: end } = this.#options;
    const isCleanup = init.method === 'DELETE';
    const { url, method, headers } = await this.#sign(this.#url(key), init).sign();
    const abort = new AbortController();
    const { signal } = abort;
    const stop = () => abort.abort();
    let { timeoutMs } = this.#options;
    let late = setTimeout(stop, timeoutMs);
    const onEnd = () => {
      if (!isCleanup) return stop();
      clearTimeout(late);
      timeoutMs = CLEANUP_MS;
      late = setTimeout(stop, timeoutMs);
    };
    end?.addEventListener('abort', onEnd);
    try {
      if (end?.aborted) onEnd();
      const body = init.body as Uint8Array<ArrayBuffer> | undefined;
      const fetched = await fetch(url, {
        method,
        headers,
        signal,
        redirect: 'manual',
        ...defined({ body }),
      });
      const answer = abortableBody(fetched, signal);
      late.refresh();
      if (DONE.has(answer.status)) return { headers: answer.headers, body: await bytesOf(answer) };
      const code = codeOf(new TextDecoder().decode(await bytesOf(answer, ERROR_BYTES_MAX)));
      if (answer.status === 404 && code !== 'NoSuchBucket' && !WRITING.has(init.method))
        return undefined;
      throw this.#refused(answer.status, code);
    } catch (cause) {
      if (cause instanceof TroupeError) throw cause;
      if (end?.aborted && !isCleanup) throw this.#cancelled(cause);
      const why = signal.aborted ? `no answer within ${timeoutMs / 1_000} s` : reasonOf(cause);
      throw this.#unavailable(`cannot be reached (${why})`, { status: 0, cause });
    } finally {
      clearTimeout(late);
      end?.removeEventListener('abort', onEnd);
    }
  }

  #cancelled(cause: unknown): TroupeError {
    const { endpoint, store = STORE } = this.#options;
    return new TroupeError('CANCELLED', `the request to ${store}, ${endpoint}, was ended`, {
      cause,
    });
  }

  #url(key: string): URL {
    const { endpoint, bucket } = this.#options;
    return new URL(`${endpoint.replace(/\/+$/, '')}/${bucket}/${key}`);
  }

  #sign(url: URL, init: Init, more: { signQuery?: boolean; datetime?: string } = {}): AwsV4Signer {
    const { accessKeyId, secretAccessKey, region, sessionToken } = this.#options;
    return new AwsV4Signer({
      url: url.toString(),
      method: init.method,
      headers: { ...init.headers },
      accessKeyId,
      secretAccessKey,
      region,
      service: 's3',
      cache: this.#keys,
      datetime: this.datetime(),
      ...defined({ sessionToken }),
      ...more,
    });
  }

  #refused(status: number, code: string): TroupeError {
    const said = `answered ${status}${code && ` ${code}`}`;
    const remedy = remediesOf(this.#options.settings ?? ARTIFACT_SETTINGS)[code];
    return this.#unavailable(remedy ? `${said}: ${remedy}` : said, { status, code });
  }

  #unavailable(what: string, why: { status: number; code?: string; cause?: unknown }): TroupeError {
    const { endpoint, bucket, store = STORE } = this.#options;
    const { status, code = '', cause } = why;
    return new TroupeError(
      'UNAVAILABLE',
      `${store}, ${endpoint} with the bucket ${bucket}, ${what}`,
      { cause, details: { status, store: code } },
    );
  }
}

const STORE = 'the store of artifacts';
const ARTIFACT_SETTINGS: S3Settings = {
  bucket: 'a2a.artifacts.s3.bucket',
  region: 'a2a.artifacts.s3.region',
  accessKeyId: 'a2a.artifacts.s3.accessKeyId',
  secretAccessKey: 'a2a.artifacts.s3.secretAccessKey',
};

/** Codes of the store that an operator can do something about. */
const remediesOf = (names: S3Settings): Readonly<Record<string, string>> => ({
  NoSuchBucket: `create the bucket, or set another one in ${names.bucket}`,
  InvalidAccessKeyId: `the store does not know ${names.accessKeyId}`,
  SignatureDoesNotMatch: `${names.secretAccessKey} does not belong to ${names.accessKeyId.split('.').at(-1)}`,
  AccessDenied:
    'permit the access key to read and write objects of the bucket, and to use its KMS key',
  RequestTimeTooSkewed: 'set the clock of this machine',
  AuthorizationHeaderMalformed: `set ${names.region} to the region of the bucket`,
});

const codeOf = (xml: string): string => /<Code>([\w.]{1,64})<\/Code>/.exec(xml)?.[1] ?? '';

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
};

/** The text of the first element of this name; empty without one. */
export const elementOf = (xml: string, tag: string): string =>
  (new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(xml)?.[1] ?? '').replaceAll(
    /&(?:amp|lt|gt|quot|apos);/g,
    (entity) => ENTITIES[entity]!,
  );

const mayHelpAgain = (error: unknown): boolean => {
  if (!(error instanceof TroupeError) || !ERRORS[error.code].retriable) return false;
  const status = error.details?.['status'] as number;
  return status === 0 || status >= 500 || AGAIN.has(status);
};

const reasonOf = (error: unknown): string => {
  const { cause } = error as { cause?: NodeJS.ErrnoException };
  return cause?.code ?? cause?.message ?? (error instanceof Error ? error.message : String(error));
};

/** The body in one piece; one that is larger than any file, or than `bytesMax`, is not read on. */
async function bytesOf(answer: Response, bytesMax?: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    if (bytesMax === undefined) checkBytes(bytes);
    else if (bytes > bytesMax) break;
    chunks.push(chunk);
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}
