/**
 * S3Bucket: objects of a bucket below a prefix, for backups. Every body is sent with its SHA-256,
 * which the store checks; a large file goes in parts and appears when all are there.
 */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import { elementOf, type S3Listed, type S3Place, S3Requests } from '../../artifacts/s3-requests.ts';
import { systemClock } from '../../clock/clock.ts';
import { makeFolder } from '../../make-folder.ts';

export type S3BucketOptions = S3Place & {
  /** of all keys, without `/` at its ends; may be empty */
  readonly prefix: string;
  /** of a part of a large file, at least 5 MiB for the real S3; default 16 MiB */
  readonly partBytes?: number;
  /** ends requests with CANCELLED, except those that remove objects */
  readonly signal?: AbortSignal;
};

const PART_BYTES = 16 * 2 ** 20;
const PARTS_MAX = 10_000;
const TIMEOUT_MS = 60_000;
const SETTINGS = {
  bucket: 's3://bucket',
  region: 'AWS_REGION',
  accessKeyId: 'AWS_ACCESS_KEY_ID',
  secretAccessKey: 'AWS_SECRET_ACCESS_KEY',
};

export class S3Bucket {
  readonly #requests: S3Requests;
  readonly #prefix: string;
  readonly #partBytes: number;

  constructor(options: S3BucketOptions) {
    const store = 'the store of backups';
    const about = { clock: systemClock, timeoutMs: TIMEOUT_MS, store, settings: SETTINGS };
    this.#requests = new S3Requests({ ...options, ...about });
    this.#prefix = options.prefix === '' ? '' : `${options.prefix}/`;
    this.#partBytes = options.partBytes ?? PART_BYTES;
  }

  /** @throws TroupeError CONFLICT when `ifAbsent` is set and there is an object of that name */
  async put(key: string, body: Uint8Array, { ifAbsent = false } = {}): Promise<void> {
    const headers = { ...checksums(body), ...(ifAbsent && { 'if-none-match': '*' }) };
    try {
      await this.#requests.send(this.#key(key), { method: 'PUT', body, headers });
    } catch (error) {
      if (!ifAbsent || !isConflict(error)) throw error;
      // An answer that was lost: the object may be the one that an earlier attempt has stored.
      const stored = await this.get(key);
      if (stored && Buffer.compare(stored, body) === 0) return;
      throw new TroupeError('CONFLICT', `the bucket has ${this.#prefix}${key} already`, {
        cause: error,
      });
    }
  }

  async putFile(key: string, path: string): Promise<void> {
    const file = await open(path);
    try {
      const { size } = await file.stat();
      const partBytes = Math.max(this.#partBytes, Math.ceil(size / PARTS_MAX));
      const part = async (at: number) => {
        const bytes = Buffer.alloc(Math.min(partBytes, size - at));
        await file.read(bytes, 0, bytes.length, at);
        return bytes;
      };
      if (size <= partBytes) return await this.put(key, await part(0));
      await this.#putParts(key, { size, partBytes, part });
    } finally {
      await file.close();
    }
  }

  /** Undefined when there is none. For small objects. */
  async get(key: string): Promise<Uint8Array | undefined> {
    return (await this.#requests.send(this.#key(key), { method: 'GET' }))?.body;
  }

  /** False when there is no such object. */
  async getFile(key: string, path: string, bytes: number): Promise<boolean> {
    makeFolder(dirname(path));
    const file = await open(path, 'w', 0o600);
    try {
      for (let at = 0; at < bytes; ) {
        const range = `bytes=${at}-${Math.min(at + this.#partBytes, bytes) - 1}`;
        const answer = await this.#requests.send(this.#key(key), {
          method: 'GET',
          headers: { range },
        });
        if (!answer || answer.body.length === 0) return false;
        await file.writeFile(answer.body);
        at += answer.body.length;
      }
      return true;
    } finally {
      await file.close();
    }
  }

  async delete(key: string): Promise<void> {
    await this.#requests.send(this.#key(key), { method: 'DELETE' });
  }

  /** All objects below a prefix, by key, which is without the prefix of this bucket. */
  async list(prefix = ''): Promise<readonly S3Listed[]> {
    const found: S3Listed[] = [];
    for await (const page of this.#requests.list(this.#prefix + prefix))
      for (const { key, bytes } of page) found.push({ key: key.slice(this.#prefix.length), bytes });
    return found;
  }

  async #putParts(
    key: string,
    file: { size: number; partBytes: number; part: (at: number) => Promise<Buffer> },
  ): Promise<void> {
    const at = this.#key(key);
    const begun = await this.#requests.send(`${at}?uploads=`, {
      method: 'POST',
      headers: { 'x-amz-checksum-algorithm': 'SHA256' },
    });
    const id = elementOf(Buffer.from(begun?.body ?? []).toString('utf8'), 'UploadId');
    const upload = `uploadId=${encodeURIComponent(id)}`;
    try {
      const parts: string[] = [];
      for (let from = 0, n = 1; from < file.size; from += file.partBytes, n++) {
        const body = await file.part(from);
        const headers = checksums(body);
        const query = `partNumber=${n}&${upload}`;
        const stored = await this.#requests.send(`${at}?${query}`, {
          method: 'PUT',
          body,
          headers,
        });
        const sum = headers['x-amz-checksum-sha256'];
        const etag = stored?.headers.get('etag') ?? '';
        parts.push(
          `<Part><PartNumber>${n}</PartNumber><ETag>${etag}</ETag>` +
            `<ChecksumSHA256>${sum}</ChecksumSHA256></Part>`,
        );
      }
      const text = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
      await this.#complete(key, `${at}?${upload}`, Buffer.from(text), file.size);
    } catch (error) {
      await this.#requests.send(`${at}?${upload}`, { method: 'DELETE' }).catch(() => {});
      throw error;
    }
  }

  /** S3 may answer an error with status 200, and a lost answer may be repeated. */
  async #complete(key: string, target: string, body: Buffer, size: number): Promise<void> {
    const headers = checksums(body);
    const answer = await this.#requests
      .send(target, { method: 'POST', body, headers })
      .catch(async (error: unknown) => {
        const [stored] = await this.list(key);
        if (stored?.key === key && stored.bytes === size) return undefined;
        throw error;
      });
    if (answer && Buffer.from(answer.body).includes('<Error>'))
      throw new TroupeError('UNAVAILABLE', `the store of backups did not complete ${key}`);
  }

  #key(key: string): string {
    return (this.#prefix + key).split('/').map(encodeURIComponent).join('/');
  }
}

function checksums(body: Uint8Array) {
  const hash = createHash('sha256').update(body).digest();
  return {
    'x-amz-content-sha256': hash.toString('hex'),
    'x-amz-checksum-sha256': hash.toString('base64'),
  };
}

/** 412: there is one; 409: another conditional put of it is under way. */
const isConflict = (error: unknown): boolean => {
  const status = errorData(error).details?.['status'];
  return status === 412 || status === 409;
};
