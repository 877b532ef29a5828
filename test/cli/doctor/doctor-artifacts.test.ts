import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { artifactStore } from '../../../cli/doctor/doctor-artifacts.ts';
import { checkBucket } from '../../../runtime/artifacts/bucket-checks.ts';
import { systemClock } from '../../../runtime/clock/clock.ts';
import { loadConfig } from '../../../runtime/config/index.ts';
import { type S3Server, startS3Server } from '../../servers/s3-server.ts';

const KEY = '0123456789abcdef'.repeat(4);
const s3 = (more: object = {}) => ({
  s3: {
    endpoint: 'https://s3.example',
    bucket: 'files',
    accessKeyId: 'a',
    secretAccessKey: 'b',
    ...more,
  },
});
const LAN = { gateway: { bind: 'lan' } };
const NATS = { nats: { url: 'nats://127.0.0.1:4222' } };

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

describe('troupe doctor, on the artifact bucket', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'troupe-doctor-artifacts-'));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const findings = (artifacts: object, more: object = {}) => {
    const file = join(home, 'troupe.json5');
    writeFileSync(file, JSON.stringify({ ...more, a2a: { artifacts } }));
    const { config } = loadConfig({ file, env: {}, flags: { data: home } });
    return all(artifactStore(config));
  };

  it.each([
    ['a folder', {}],
    ['a folder with a key', { encryptionKey: KEY }],
    ['an unencrypted store', s3({ encryption: 'none', endpoint: 'http://10.0.0.1:9000' })],
  ])('accepts %s if only this machine can connect', async (_, artifacts) => {
    expect(await findings(artifacts)).toMatchObject([{ check: 'artifacts', status: 'ok' }]);
  });

  it.each([
    ['by the network', LAN],
    ['by NATS', NATS],
  ])('accepts a sealed folder if other machines can connect %s', async (_, more) => {
    expect(await findings({ path: home, encryptionKey: KEY }, more)).toMatchObject([
      { status: 'ok' },
    ]);
  });

  // A production bucket needs a key that the customer owns; all of these were accepted before.
  it.each([
    ['aws:kms without a key id', {}, 'kmsKeyId'],
    ['the alias of a key of AWS', { kmsKeyId: 'alias/aws/s3' }, 'alias/aws/s3'],
    ['AES256', { encryption: 'AES256' }, 's3.encryption'],
    ['AES256 with a key id', { encryption: 'AES256', kmsKeyId: 'k' }, 's3.encryption'],
  ])('refuses a production store with %s', async (_, store, named) => {
    for (const more of [LAN, NATS])
      expect(await findings(s3(store), more)).toMatchObject([
        { status: 'fail', message: expect.stringContaining(named) as string },
      ]);
  });

  it.each([
    ['by the network', LAN],
    ['by NATS', NATS],
  ])(
    'refuses an unencrypted folder if other machines can connect %s, and names the setting',
    async (_, more) => {
      expect(await findings({ path: home }, more)).toMatchObject([
        {
          status: 'fail',
          remedy: expect.stringContaining('a2a.artifacts.encryptionKey') as string,
        },
      ]);
    },
  );

  it('accepts a cluster that stores files itself, and reports the source of its keys', async () => {
    const from = async (cluster: object = {}) => {
      const [files, keys, ...rest] = await findings({}, { ...NATS, cluster });
      expect(files).toMatchObject({ check: 'artifacts', status: 'ok' });
      expect(rest).toEqual([]);
      expect(keys).toMatchObject({ check: 'cluster keys', status: 'ok' });
      return keys?.message;
    };
    expect(await from()).toContain('TROUPE_CLUSTER_SECRET');
    expect(await from({ secret: 'a secret of the cluster' })).toContain('join secret');
    mkdirSync(join(home, 'a2a'));
    writeFileSync(join(home, 'a2a', 'files.key'), KEY);
    expect(await from()).toContain(home);
  });

  it('refuses an unencrypted store or connection if other machines can connect', async () => {
    const artifacts = s3({ encryption: 'none', endpoint: 'http://minio:9000' });
    const [encryption, endpoint, ...rest] = await findings(artifacts, LAN);
    expect(encryption).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('s3.encryption') as string,
    });
    expect(endpoint).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('http://minio:9000') as string,
    });
    expect(rest).toEqual([]);
  });

  it('refuses an invalid key without printing it', async () => {
    for (const more of [{}, NATS]) {
      const [finding] = await findings({ encryptionKey: 'too-short' }, more);
      expect(finding).toMatchObject({ status: 'fail' });
      expect(JSON.stringify(finding)).not.toContain('too-short');
    }
  });

  it('checks nothing if the entry point for programs is disabled', async () => {
    const file = join(home, 'troupe.json5');
    writeFileSync(file, JSON.stringify({ ...LAN, a2a: { enabled: false } }));
    const { config } = loadConfig({ file, env: {}, flags: { data: home } });
    expect(await all(artifactStore(config))).toEqual([]);
  });
});

describe('troupe doctor, with requests to the bucket', () => {
  let server: S3Server;
  let home: string;
  beforeEach(async () => {
    server = await startS3Server();
    home = mkdtempSync(join(tmpdir(), 'troupe-doctor-bucket-'));
  });
  afterEach(async () => {
    await server.close();
    rmSync(home, { recursive: true, force: true });
  });

  const kms = { encryption: 'aws:kms', kmsKeyId: 'key-1' } as const;
  const place = () => {
    const { endpoint, region, bucket, accessKeyId, secretAccessKey } = server;
    return { endpoint, region, bucket, accessKeyId, secretAccessKey };
  };
  const doctor = async (more: object = {}) => {
    const file = join(home, 'troupe.json5');
    const artifacts = { s3: { ...place(), ...kms, ...more } };
    writeFileSync(file, JSON.stringify({ ...LAN, a2a: { artifacts } }));
    const { config } = loadConfig({ file, env: {}, flags: { data: home } });
    return all(artifactStore(config));
  };
  const failed = async (more?: object) =>
    (await doctor(more)).filter(({ status }) => status !== 'ok').map(({ message }) => message);
  const google = async () => {
    const options = { ...place(), encryption: 'none', google: true, timeoutMs: 5_000 } as const;
    const points = await all(checkBucket({ ...options, clock: systemClock }));
    return points.filter(({ status }) => status !== 'ok').map(({ message }) => message);
  };

  it('reports each check of a safe bucket separately, also the second time', async () => {
    for (let times = 0; times < 2; times++) {
      const findings = await doctor();
      expect(findings.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok']);
    }
    expect(server.objects.size).toBe(1);
  });

  it.each([
    ['ownership', () => (server.settings.ownership = 'ObjectWriter'), 'ownership is not enforced'],
    ['no ownership', () => (server.settings.ownership = undefined), 'ownership is not enforced'],
    [
      'no block',
      () => (server.settings.publicAccessBlock = undefined),
      'access to the bucket is not',
    ],
    [
      'one open flag',
      () => (server.settings.publicAccessBlock!['BlockPublicPolicy'] = false),
      'not blocked: BlockPublicPolicy',
    ],
    ['listing', () => (server.settings.listing = true), 'the access key can list'],
    [
      'anonymous access',
      () => (server.settings.anonymous = true),
      'anyone can list the bucket and read its files',
    ],
    [
      'another key',
      () => {
        const header = 'x-amz-server-side-encryption-aws-kms-key-id';
        server.settings.encryption = { [header]: 'arn:aws:kms:eu:1:key/other' };
      },
      'encrypts a file with arn:aws:kms:eu:1:key/other',
    ],
  ])('refuses a bucket with one defect: %s', async (_, spoil, message) => {
    spoil();
    expect(await failed()).toEqual([expect.stringContaining(message)]);
  });

  it('refuses settings that it cannot read, and names the permissions', async () => {
    server.settings.readable = false;
    const remedies = (await doctor()).flatMap(({ remedy }) => remedy ?? []);
    expect(remedies).toEqual([
      'permit s3:GetBucketOwnershipControls on the bucket',
      'permit s3:GetBucketPublicAccessBlock on the bucket',
    ]);
  });

  it('warns if a compatible store has no such settings', async () => {
    server.settings.dialect = 'other';
    const statuses = (await doctor()).map(({ status }) => status);
    expect(statuses).toEqual(['ok', 'warn', 'warn', 'ok', 'ok']);
  });

  it('reports a store that it cannot reach once, without its secret', async () => {
    await server.close();
    const findings = await doctor({ secretAccessKey: 'never-shown' });
    expect(findings).toMatchObject([{ status: 'fail' }]);
    expect(JSON.stringify(findings)).not.toContain('never-shown');
    server = await startS3Server();
  });

  it('accepts a Google bucket only with uniform access and a customer key', async () => {
    expect(await google()).toEqual([expect.stringContaining('no key of yours')]);
    server.objects.clear();
    server.settings.encryption = { 'x-goog-encryption-kms-key-name': 'projects/p/key' };
    expect(await google()).toEqual([]);
    server.settings.uniformAccess = false;
    expect(await google()).toEqual([expect.stringContaining('uniform bucket-level access is off')]);
  });
});
