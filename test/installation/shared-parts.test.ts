/** Processes of a cluster that compare their buckets and keys, with real folders. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { SharedParts } from '../../installation/shared-parts.ts';
import { openFolderArtifacts } from '../../runtime/artifacts/folder.ts';
import { InProcessBus } from '../../runtime/bus/in-process.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';

const KEY = randomBytes(32).toString('hex');

type Made = { readonly folder: string; readonly key?: string; readonly sealingKid?: string };

/** A cluster whose processes start one after the other. */
function openCluster() {
  const bus = new InProcessBus();
  onTestFinished(() => bus.close());
  const heard: Record<string, string[]> = {};
  let published = 0;
  bus.subscribe('parts', () => void published++);
  const enter = async (name: string, { folder, key = KEY, sealingKid = 'k1' }: Made) => {
    const artifacts = await openFolderArtifacts({
      path: folder,
      publicUrl: () => `http://${name}.example`,
      mimeTypes: ['application/json'],
      encryptionKey: key,
    });
    const said: string[] = [];
    heard[name] = said;
    const onDifference = (what: string) => void said.push(what);
    const parts = { bus, cell: 'c1', node: `${name}-1`, name, sealingKid, artifacts };
    await new SharedParts({ ...parts, onDifference }).open();
  };
  return { enter, heard, published: () => published };
}

it('logs nothing if all processes have one bucket and one key', async () => {
  const { enter, heard, published } = openCluster();
  const folder = scratchFolder();
  for (const name of ['ann', 'bob', 'eve']) await enter(name, { folder });
  // a new process publishes its parts, and all others publish theirs in response
  await eventually(() => expect(published()).toBe(1 + 2 + 3));
  expect(heard).toEqual({ ann: [], bob: [], eve: [] });
});

it('notifies both processes once if their buckets differ', async () => {
  const { enter, heard } = openCluster();
  const folder = scratchFolder();
  await enter('ann', { folder });
  await enter('bob', { folder: join(folder, 'own') });
  await eventually(() => {
    expect(heard['ann']).toEqual([
      expect.stringMatching(/cannot read the files of bob: .*signature/),
    ]);
    expect(heard['bob']).toEqual([
      expect.stringMatching(/cannot read the files of ann: .*a2a.artifacts/),
    ]);
  });
  await enter('eve', { folder });
  await eventually(() => expect(heard['eve']).toHaveLength(1));
  expect(heard['ann']).toHaveLength(1);
});

it('detects that files of one folder are sealed with two keys', async () => {
  const { enter, heard } = openCluster();
  const folder = scratchFolder();
  await enter('ann', { folder });
  await enter('bob', { folder, key: randomBytes(32).toString('hex') });
  await eventually(() => expect(heard['ann']?.join()).toContain('sealed with the key'));
});

it('notifies both processes if their keys for sensitive payloads differ', async () => {
  const { enter, heard } = openCluster();
  const folder = scratchFolder();
  await enter('ann', { folder });
  await enter('bob', { folder, sealingKid: 'k2' });
  await eventually(() => {
    expect(heard['ann']).toEqual([expect.stringContaining('bob has another key')]);
    expect(heard['bob']).toEqual([expect.stringContaining('a2a.sealingKeyFile')]);
  });
});

it('reports an unusable bucket, and validates what others publish', async () => {
  const bus = new InProcessBus();
  onTestFinished(() => bus.close());
  const said: string[] = [];
  const artifacts = await openFolderArtifacts({
    path: scratchFolder(),
    publicUrl: () => 'http://ann.example',
    mimeTypes: ['image/png'],
  });
  const parts = { bus, cell: 'c1', node: 'ann-1', name: 'ann', sealingKid: 'k1', artifacts };
  await new SharedParts({ ...parts, onDifference: (what) => void said.push(what) }).open();
  for (const nonsense of [null, 'x', {}, { node: 1, name: 'b' }]) bus.publish('parts', nonsense);
  await eventually(() =>
    expect(said).toEqual([expect.stringMatching(/bucket of files cannot be used.*check a2a/)]),
  );
});
