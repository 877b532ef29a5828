import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openS3Artifacts, type S3ArtifactsOptions } from '../../../runtime/artifacts/s3.ts';
import { S3Requests } from '../../../runtime/artifacts/s3-requests.ts';
import { systemClock } from '../../../runtime/clock/clock.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';
import { artifactsContract, MIME_TYPES } from './contract.ts';

const optionsOf = (
  server: S3Server,
  more: Partial<S3ArtifactsOptions> = {},
): S3ArtifactsOptions => {
  const { endpoint, region, bucket, accessKeyId, secretAccessKey } = server;
  const place = { endpoint, region, bucket, accessKeyId, secretAccessKey };
  return { ...place, encryption: 'aws:kms', mimeTypes: MIME_TYPES, ...more };
};

artifactsContract('S3', async (clock) => {
  const servers = [await startS3Server()];
  const [server] = servers as [S3Server];
  return {
    artifacts: openS3Artifacts(optionsOf(server, { clock })),
    reopen: async () => openS3Artifacts(optionsOf(server, { clock })),
    other: async () => {
      const other = await startS3Server();
      servers.push(other);
      return openS3Artifacts(optionsOf(other, { clock }));
    },
    damage: async (tenant, hash) => {
      const { body } = server.objects.get(`${tenant}/${hash}`)!;
      body[body.length - 1] = body.at(-1)! ^ 1;
    },
    dispose: async () => {
      for (const one of servers) await one.close();
    },
  };
});

describe('artifacts in an S3-compatible store', () => {
  let server: S3Server;
  beforeEach(async () => {
    server = await startS3Server();
  });
  afterEach(() => server.close());
  const open = (more: Partial<S3ArtifactsOptions> = {}) => openS3Artifacts(optionsOf(server, more));
  const text = { contentType: 'text/plain' };
  const one = Buffer.from('one');

  it.each([
    [
      { encryption: 'aws:kms', kmsKeyId: 'alias/acme' } as const,
      {
        'x-amz-server-side-encryption': 'aws:kms',
        'x-amz-server-side-encryption-aws-kms-key-id': 'alias/acme',
      },
    ],
    [{ encryption: 'aws:kms' } as const, { 'x-amz-server-side-encryption': 'aws:kms' }],
    [{ encryption: 'AES256' } as const, { 'x-amz-server-side-encryption': 'AES256' }],
    [{ encryption: 'none' } as const, {}],
  ])('requests the configured encryption: %j', async (more, sealed) => {
    const { hash } = await open(more).put('acme', one, text);
    expect(server.objects.get(`acme/${hash}`)!.headers).toEqual({
      'content-type': 'text/plain',
      'x-amz-meta-sha256': hash,
      'x-amz-checksum-sha256': Buffer.from(hash, 'hex').toString('base64'),
      ...sealed,
    });
  });

  // Without the right to list, S3 answers 403 for an absent object: no new file could be stored.
  it('stores and reads with an access key that may not list the bucket', async () => {
    expect(server.settings.listing).toBe(false);
    const artifacts = open();
    const { hash } = await artifacts.put('acme', one, text);
    expect(Buffer.from((await artifacts.get('acme', hash)).contents)).toEqual(one);
    const absent = artifacts.sign('acme', 'a'.repeat(64));
    await expect(absent).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('signs URLs that the store accepts for reading that file as an attachment, and for nothing else', async () => {
    const artifacts = open();
    const { hash } = await artifacts.put('acme', one, text);
    const { artifact_uri: uri } = await artifacts.sign('acme', hash);
    const answer = await fetch(uri);
    expect([answer.status, await answer.text()]).toEqual([200, 'one']);
    expect(uri).toContain('response-content-disposition=attachment');
    const refused = [
      fetch(uri, { method: 'PUT', body: 'other' }),
      fetch(
        uri.replace(
          hash,
          hash.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
        ),
      ),
      fetch(uri.replace('X-Amz-Expires=900', 'X-Amz-Expires=9000')),
      fetch(uri.split('?', 1)[0]!),
      fetch(`${server.endpoint}/${server.bucket}/`),
    ];
    for (const { status } of await Promise.all(refused)) expect(status).toBe(403);
    expect(server.objects.get(`acme/${hash}`)!.body.toString()).toBe('one');
  });

  it('retries failures of the store, three attempts in all', async () => {
    const artifacts = open();
    const { hash } = await artifacts.put('acme', one, text);
    server.faults.push({ kind: 'refuse', status: 503, code: 'SlowDown' }, { kind: 'cut' });
    expect((await artifacts.get('acme', hash)).artifact.bytes).toBe(3);
    expect(server.faults).toEqual([]);
    server.requests.length = 0;
    for (let times = 0; times < 4; times++)
      server.faults.push({ kind: 'refuse', status: 500, code: 'InternalError' });
    await expect(artifacts.get('acme', hash)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('500 InternalError') as string,
    });
    expect(server.requests).toHaveLength(3);
  });

  it('times out when the store does not respond', async () => {
    const artifacts = open({ timeoutMs: 50 });
    for (let times = 0; times < 3; times++) server.faults.push({ kind: 'silent' });
    await expect(artifacts.get('acme', 'a'.repeat(64))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining(`no answer within 0.05 s`) as string,
    });
  });

  it.each([
    [{ bucket: 'absent' }, 'create the bucket'],
    [{ accessKeyId: 'UNKNOWN' }, 's3.accessKeyId'],
    [{ secretAccessKey: 'wrong' }, 's3.secretAccessKey'],
    [{ region: 'mars-1' }, 's3.region'],
  ])('reports the remedy for %j at once, and never a secret', async (more, remedy) => {
    const artifacts = open(more);
    server.requests.length = 0;
    const refusal = artifacts.get('acme', 'a'.repeat(64)).catch((error: unknown) => error);
    const { code, message } = (await refusal) as { code: string; message: string };
    expect([code, message]).toEqual(['UNAVAILABLE', expect.stringContaining(remedy)]);
    expect(message).not.toContain(server.secretAccessKey);
    expect(server.requests).toHaveLength(1);
  });

  it('reports that the clock is wrong', async () => {
    const clock = {
      wallMs: () => Date.now() - 3_600_000,
      monotonicMs: () => 0,
      after: () => () => {},
    };
    await expect(open({ clock }).get('acme', 'a'.repeat(64))).rejects.toMatchObject({
      message: expect.stringContaining('set the clock') as string,
    });
  });

  it('never treats an object of another program as its own file', async () => {
    const artifacts = open();
    const { hash } = await artifacts.put('acme', one, text);
    server.objects.get(`acme/${hash}`)!.headers = { 'content-type': 'text/html' };
    const refused = { code: 'INTERNAL' };
    await expect(artifacts.get('acme', hash)).rejects.toMatchObject(refused);
    await expect(artifacts.sign('acme', hash)).rejects.toMatchObject(refused);
  });

  it('refuses a URL that its own key signed for longer than the maximum', async () => {
    const artifacts = open();
    const { hash } = await artifacts.put('acme', one, text);
    const requests = new S3Requests({ ...optionsOf(server), clock: systemClock, timeoutMs: 1_000 });
    const presign = (forSec: number) =>
      requests.presign(`acme/${hash}`, { forSec, datetime: requests.datetime() });
    expect(await artifacts.resolve('acme', await presign(900))).toBe(hash);
    await expect(artifacts.resolve('acme', await presign(901))).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
  });

  it('requests single objects only', async () => {
    const artifacts = open();
    const { hash } = await artifacts.put('acme', one, text);
    await artifacts.get('acme', hash);
    await artifacts.sign('acme', hash);
    const path = `/${server.bucket}/acme/${hash}`;
    expect(server.requests).toEqual([
      `HEAD ${path}`,
      `GET ${path}`,
      `PUT ${path}`,
      `GET ${path}`,
      `HEAD ${path}`,
    ]);
  });

  it('accepts an endpoint that ends in a slash', async () => {
    const artifacts = open({ endpoint: `${server.endpoint}/` });
    const { hash } = await artifacts.put('acme', one, text);
    expect(server.objects.has(`acme/${hash}`)).toBe(true);
  });
});
