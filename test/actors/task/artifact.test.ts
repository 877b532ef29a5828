import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readArtifact } from '../../../actors/task/artifact.ts';
import type { Envelope, Payload } from '../../../protocols/envelope.ts';
import { openFolderArtifacts } from '../../../runtime/artifacts/folder.ts';
import type { ArtifactRef, Artifacts } from '../../../runtime/index.ts';
import { MovableClock } from '../../runtime/artifacts/contract.ts';

const MIN = 60_000;

describe('a payload in a file', () => {
  let folder: string;
  let clock: MovableClock;
  let artifacts: Artifacts;
  let ref: ArtifactRef;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'troupe-read-artifact-'));
    clock = new MovableClock();
    artifacts = await openFolderArtifacts({
      path: folder,
      publicUrl: () => 'https://agents.example',
      mimeTypes: ['text/plain'],
      clock,
    });
    const { hash } = await artifacts.put('acme', Buffer.from('a file'), {
      contentType: 'text/plain',
    });
    ref = await artifacts.sign('acme', hash);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** The URL of an envelope that was created `atMs` after the URL was signed. */
  const read = (fields: object, { tenant = 'acme', atMs = 0 } = {}) => {
    const payload = { schema_version: '1.0', ...fields } as Payload;
    const timestamp = new Date(Date.now() + atMs).toISOString();
    const envelope = { payload, timestamp } as Envelope;
    return readArtifact({ tenant, artifacts, envelope }, payload);
  };

  it('is read from the tenant’s own bucket', async () => {
    const file = await read(ref);
    expect(Buffer.from(file!.contents).toString()).toBe('a file');
    expect(file!.artifact).toMatchObject({ contentType: 'text/plain', bytes: 6 });
  });

  it('is none when no file is named', async () => {
    expect(await read({ text: 'here' })).toBeUndefined();
  });

  it('is read late when the URL was good as the envelope was made', async () => {
    clock.aheadMs = 20 * MIN;
    expect((await read(ref, { atMs: 10 * MIN }))!.artifact.bytes).toBe(6);
    await expect(read(ref, { atMs: 16 * MIN })).rejects.toMatchObject({ code: 'EXPIRED' });
  });

  it('is refused when the hash is another than that of the URL, in time or late', async () => {
    const other = { ...ref, artifact_hash: 'a'.repeat(64) };
    await expect(read(other)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    clock.aheadMs = 20 * MIN;
    await expect(read(other)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it.each([
    ['https://elsewhere.example/file', 'FORBIDDEN'],
    ['file:///etc/passwd', 'INVALID_ARGUMENT'],
    [undefined, 'INVALID_ARGUMENT'],
  ])('is refused from %s', async (artifact_uri, code) => {
    await expect(read({ ...ref, artifact_uri })).rejects.toMatchObject({ code });
  });

  it('is refused to another tenant, in time or late', async () => {
    await expect(read(ref, { tenant: 'beta' })).rejects.toMatchObject({ code: 'FORBIDDEN' });
    clock.aheadMs = 20 * MIN;
    await expect(read(ref, { tenant: 'beta' })).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });
});
