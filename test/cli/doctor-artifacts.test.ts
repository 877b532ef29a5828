import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { artifactStore } from '../../cli/doctor-artifacts.ts';
import { loadConfig } from '../../runtime/config/index.ts';

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

describe('troupe doctor, of the bucket of artifacts', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'troupe-doctor-artifacts-'));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const findings = (artifacts: object, more: object = {}) => {
    const file = join(home, 'troupe.json5');
    writeFileSync(file, JSON.stringify({ ...more, a2a: { artifacts } }));
    return artifactStore(loadConfig({ file, env: {}, flags: { data: home } }).config);
  };

  it.each([
    ['a folder', {}],
    ['a folder with a key', { encryptionKey: KEY }],
    ['a store in clear', s3({ encryption: 'none', endpoint: 'http://10.0.0.1:9000' })],
  ])('finds %s good where only this machine comes in', (_, artifacts) => {
    expect(findings(artifacts)).toMatchObject([{ check: 'artifacts', status: 'ok' }]);
  });

  it.each([
    ['by the network', LAN],
    ['by NATS', NATS],
  ])('finds what is sealed good where others come in %s', (_, more) => {
    for (const artifacts of [
      { encryptionKey: KEY },
      s3(),
      s3({ encryption: 'AES256', endpoint: 'http://127.0.0.1:9000' }),
    ])
      expect(findings(artifacts, more)).toMatchObject([{ status: 'ok' }]);
  });

  it.each([
    ['by the network', LAN],
    ['by NATS', NATS],
  ])('refuses a folder in clear where others come in %s, and says what to set', (_, more) => {
    expect(findings({}, more)).toMatchObject([
      { status: 'fail', remedy: expect.stringContaining('a2a.artifacts.encryptionKey') as string },
    ]);
  });

  it('refuses a store in clear and a way to it in clear where others come in', () => {
    const artifacts = s3({ encryption: 'none', endpoint: 'http://minio:9000' });
    const [encryption, endpoint, ...rest] = findings(artifacts, LAN);
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

  it('refuses a key that is none, without showing it', () => {
    const [finding] = findings({ encryptionKey: 'too-short' });
    expect(finding).toMatchObject({ status: 'fail' });
    expect(JSON.stringify(finding)).not.toContain('too-short');
  });

  it('asks nothing where the door for programs is closed', () => {
    const file = join(home, 'troupe.json5');
    writeFileSync(file, JSON.stringify({ ...LAN, a2a: { enabled: false } }));
    const { config } = loadConfig({ file, env: {}, flags: { data: home } });
    expect(artifactStore(config)).toEqual([]);
  });
});
