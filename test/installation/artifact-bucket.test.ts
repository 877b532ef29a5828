import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { artifactsFolder, openArtifacts } from '../../installation/artifact-bucket.ts';
import { loadConfig } from '../../runtime/config/index.ts';
import { type S3Server, startS3Server } from '../servers/s3-server.ts';

const TEXT = { contentType: 'text/plain' };
const one = Buffer.from('one');

describe('the bucket of a configuration', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'troupe-compose-artifacts-'));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));
  const configOf = (a2a: object) => {
    const file = join(home, 'troupe.json5');
    writeFileSync(file, JSON.stringify({ a2a }));
    return loadConfig({ file, env: {}, flags: { data: home, port: '18790' } }).config;
  };

  it('is a folder in the data folder, whose URLs point to the gateway', async () => {
    const config = configOf({});
    const artifacts = await openArtifacts(config);
    const { hash } = await artifacts.put('acme', one, TEXT);
    const { artifact_uri: uri } = await artifacts.sign('acme', hash);
    expect(uri).toMatch(/^http:\/\/127\.0\.0\.1:18790\/v1\/artifacts\/acme\//);
    expect(artifactsFolder(config)).toBe(join(home, 'artifacts'));
    expect(await readdir(join(home, 'artifacts', 'acme', hash.slice(0, 2)))).toEqual([hash]);
  });

  it('is another folder, sealed, with another public URL, if configured', async () => {
    const path = join(home, 'elsewhere');
    const artifacts = await openArtifacts(
      configOf({
        publicUrl: 'https://agents.example/',
        artifacts: { path, encryptionKey: 'ab'.repeat(32) },
      }),
    );
    const { hash } = await artifacts.put('acme', one, TEXT);
    const stored = await readFile(join(path, 'acme', hash.slice(0, 2), hash), 'latin1');
    expect(stored).toContain('"sealed"');
    const { artifact_uri: uri } = await artifacts.sign('acme', hash);
    expect(uri).toMatch(/^https:\/\/agents\.example\/v1\/artifacts\//);
  });

  it('accepts only the configured types', async () => {
    const artifacts = await openArtifacts(configOf({ artifacts: { mimeTypes: ['image/png'] } }));
    await expect(artifacts.put('acme', one, TEXT)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  describe('with a store', () => {
    let server: S3Server;
    beforeEach(async () => {
      server = await startS3Server();
    });
    afterEach(() => server.close());

    it('is in the store, sealed by its key service unless configured otherwise', async () => {
      const { endpoint, region, bucket, accessKeyId, secretAccessKey } = server;
      const s3 = { endpoint, region, bucket, accessKeyId, secretAccessKey };
      const artifacts = await openArtifacts(configOf({ artifacts: { s3 } }));
      const { hash } = await artifacts.put('acme', one, TEXT);
      expect(server.objects.get(`acme/${hash}`)!.headers).toMatchObject({
        'x-amz-server-side-encryption': 'aws:kms',
      });
    });
  });
});
