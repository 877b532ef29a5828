/** The contract of Artifacts, run on every adapter. */
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../runtime/clock/clock.ts';
import type { Artifacts } from '../../../runtime/artifacts/artifacts.ts';

export type ArtifactsUnderTest = {
  readonly artifacts: Artifacts;
  /** another adapter on the same bucket, as after a restart or in another process */
  readonly reopen: () => Promise<Artifacts>;
  /** changes one byte of the contents as they are stored */
  readonly damage: (tenant: string, hash: string) => Promise<void>;
  /** another bucket of the same kind */
  readonly other: () => Promise<Artifacts>;
  readonly dispose: () => Promise<void>;
};

/** The system's clock, which a test can advance. */
export class MovableClock implements Clock {
  aheadMs = 0;
  wallMs = () => Date.now() + this.aheadMs;
  monotonicMs = () => performance.now();
  after = (): (() => void) => {
    throw new Error('this clock has no timers');
  };
}

export const MIME_TYPES = ['text/plain', 'application/json', 'image/*'];
const text = (value: Uint8Array) => Buffer.from(value).toString();
const bytes = (value: string): Uint8Array => Buffer.from(value);
const sha256 = (value: Uint8Array) => createHash('sha256').update(value).digest('hex');
const TENANT = 'acme';

export const artifactsContract = (
  name: string,
  make: (clock: Clock) => Promise<ArtifactsUnderTest>,
): void => {
  describe(`Artifacts contract: ${name}`, () => {
    let under: ArtifactsUnderTest;
    let artifacts: Artifacts;
    let clock: MovableClock;
    beforeEach(async () => {
      clock = new MovableClock();
      under = await make(clock);
      artifacts = under.artifacts;
    });
    afterEach(() => under.dispose());
    const put = (value: string, contentType = 'text/plain') =>
      artifacts.put(TENANT, bytes(value), { contentType });

    it('returns stored contents by their SHA-256, also through another adapter', async () => {
      const stored = await put('one');
      expect(stored).toEqual({ hash: sha256(bytes('one')), contentType: 'text/plain', bytes: 3 });
      for (const each of [artifacts, await under.reopen()]) {
        const { contents, artifact } = await each.get(TENANT, stored.hash);
        expect(text(contents)).toBe('one');
        expect(artifact).toEqual(stored);
      }
    });

    it('stores an empty file, and 9 MB with every byte value', async () => {
      const large = Buffer.from(Array.from({ length: 9_000_001 }, (_, at) => (at * 31) % 256));
      for (const value of [Buffer.alloc(0), large]) {
        const { hash } = await artifacts.put(TENANT, value, { contentType: 'image/png' });
        const { contents } = await artifacts.get(TENANT, hash);
        expect(Buffer.compare(contents, value)).toBe(0);
      }
    });

    it('accepts the same contents again, and keeps the first type', async () => {
      const first = await put('same', 'text/plain');
      expect(await put('same', 'application/json')).toEqual(first);
    });

    it('accepts many at once, including duplicates', async () => {
      const puts = Array.from({ length: 24 }, (_, at) => put(`value ${at % 6}`));
      const stored = await Promise.all(puts);
      for (const [at, { hash }] of stored.entries())
        expect(text((await artifacts.get(TENANT, hash)).contents)).toBe(`value ${at % 6}`);
    });

    it('accepts contents that match the given hash, in upper or lower case', async () => {
      const expectedHash = sha256(bytes('one')).toUpperCase();
      const options = { contentType: 'text/plain', expectedHash };
      expect(await artifacts.put(TENANT, bytes('one'), options)).toMatchObject({ bytes: 3 });
      await expect(artifacts.put(TENANT, bytes('two'), options)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining(sha256(bytes('two'))) as string,
      });
      await expect(artifacts.get(TENANT, sha256(bytes('two')))).rejects.toMatchObject({
        code: 'NOT_FOUND',
      });
    });

    it('accepts only the types of its list, regardless of case and parameters', async () => {
      expect(await put('a', 'Text/Plain; charset=utf-8')).toMatchObject({
        contentType: 'text/plain',
      });
      expect(await put('b', 'image/webp')).toMatchObject({ contentType: 'image/webp' });
      for (const type of ['text/html', 'image', 'image/', '', 'text/plain\r\nx: y', 'imagex/png'])
        await expect(put('c', type)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    });

    it('refuses a file above the limit', async () => {
      const options = { contentType: 'text/plain' };
      const huge = new Uint8Array(100 * 2 ** 20 + 1);
      await expect(artifacts.put(TENANT, huge, options)).rejects.toMatchObject({
        code: 'PAYLOAD_TOO_LARGE',
      });
    });

    it('refuses invalid names without a lookup', async () => {
      const { hash } = await put('one');
      for (const tenant of ['../acme', 'ACME', '', 'a/b'])
        await expect(
          artifacts.put(tenant, bytes('x'), { contentType: 'text/plain' }),
        ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      for (const wrong of [hash.toUpperCase(), `${hash}0`, '../x', '', hash.replace(/./g, '0')])
        await expect(artifacts.get(TENANT, wrong)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      for (const tenant of ['other', '..', ''])
        await expect(artifacts.get(tenant, hash)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    it('reports that a stored file was damaged', async () => {
      const { hash } = await put('precious');
      await under.damage(TENANT, hash);
      await expect(artifacts.get(TENANT, hash)).rejects.toMatchObject({ code: 'INTERNAL' });
    });

    it('signs URLs that it can verify, for fifteen minutes at most', async () => {
      const { hash } = await put('one');
      const ref = await artifacts.sign(TENANT, hash);
      expect(ref).toEqual({
        artifact_uri: expect.stringMatching(/^http:\/\//) as string,
        artifact_hash: hash,
        content_type: 'text/plain',
      });
      expect(await artifacts.resolve(TENANT, ref.artifact_uri)).toBe(hash);
      expect(await (await under.reopen()).resolve(TENANT, ref.artifact_uri)).toBe(hash);
      clock.aheadMs = 890_000;
      expect(await artifacts.resolve(TENANT, ref.artifact_uri)).toBe(hash);
      clock.aheadMs = 901_000;
      await expect(artifacts.resolve(TENANT, ref.artifact_uri)).rejects.toMatchObject({
        code: 'EXPIRED',
        details: { hash },
      });
      for (const forMs of [900_001, 0, -1, Number.NaN])
        await expect(artifacts.sign(TENANT, hash, { forMs })).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
        });
    });

    it('signs for a shorter time on request', async () => {
      const { hash } = await put('one');
      const { artifact_uri: uri } = await artifacts.sign(TENANT, hash, { forMs: 10_000 });
      clock.aheadMs = 8_000;
      expect(await artifacts.resolve(TENANT, uri)).toBe(hash);
      clock.aheadMs = 11_000;
      await expect(artifacts.resolve(TENANT, uri)).rejects.toMatchObject({ code: 'EXPIRED' });
    });

    it('signs no URL for a missing file', async () => {
      await expect(artifacts.sign(TENANT, sha256(bytes('absent')))).rejects.toMatchObject({
        code: 'NOT_FOUND',
      });
      const { hash } = await put('one');
      await expect(artifacts.sign('other', hash)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    it('refuses foreign URLs, and its own with any character changed', async () => {
      const { hash } = await put('one');
      const { artifact_uri: uri } = await artifacts.sign(TENANT, hash);
      const forbidden = { code: 'FORBIDDEN' };
      await expect(artifacts.resolve('other', uri)).rejects.toMatchObject(forbidden);
      const other = await under.other();
      await other.put(TENANT, bytes('one'), { contentType: 'text/plain' });
      const theirs = await other.sign(TENANT, hash);
      await expect(artifacts.resolve(TENANT, theirs.artifact_uri)).rejects.toMatchObject(forbidden);
      for (const foreign of [
        '',
        'no URL',
        'http://127.0.0.1/',
        `${uri}&a=b`,
        `${uri}#a`,
        ` ${uri}`,
      ])
        await expect(artifacts.resolve(TENANT, foreign)).rejects.toMatchObject(forbidden);
      for (let at = 0; at < uri.length; at++) {
        const changed = uri.slice(0, at) + (uri[at] === '1' ? '2' : '1') + uri.slice(at + 1);
        await expect(artifacts.resolve(TENANT, changed)).rejects.toMatchObject(forbidden);
      }
    });

    it('repairs a damaged file when it is stored again', async () => {
      const { hash } = await put('precious');
      await under.damage(TENANT, hash);
      await put('precious');
      expect(text((await artifacts.get(TENANT, hash)).contents)).toBe('precious');
    });
  });
};
