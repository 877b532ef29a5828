/** A dry run counts what the erasure then removes, and an erasure reaches the session's files. */
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { connectOperator } from '../../../client/operator-client.ts';
import type { ErasureCounts } from '../../../protocols/erasure.ts';
import { openFolderArtifacts } from '../../../runtime/artifacts/folder.ts';
import { install } from '../../agent-runs/installation.ts';
import { TOKEN } from '../../channels/gateway/client.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { erase, fillSession, OPEN_CONFIG } from './canary.ts';

const KEY = 'agent:main:trial';
const OTHER = 'agent:main:other';

it('counts in a dry run what the erasure removes, with the artifacts of the session', {
  timeout: 120_000,
}, async () => {
  const data = scratchFolder();
  const troupe = await install({ config: OPEN_CONFIG, data });
  const bucket = await openFolderArtifacts({
    path: join(data, 'artifacts'),
    publicUrl: () => 'http://127.0.0.1:1',
    mimeTypes: ['text/plain'],
  });
  const [own, shared] = await Promise.all(
    ['a file of the session', 'a file of both'].map((text) =>
      bucket.put('default', Buffer.from(text), { contentType: 'text/plain' }),
    ),
  );
  await fillSession(troupe, KEY, 'xq7erased-canary');
  await troupe.run(KEY, `look at ${own!.hash} and ${shared!.hash}`);
  await troupe.run(OTHER, `look at ${shared!.hash}`);
  await eventually(() => {
    for (const key of [KEY, OTHER]) expect(troupe.sessionRow(key)?.status).toBe('idle');
  });

  const client = await connectOperator({ url: troupe.url, token: TOKEN, reconnect: false });
  onTestFinished(() => client.close());
  const params = { id: KEY, dryRun: true };
  const { counts } = (await client.request('operations.run', {
    name: 'erasures.session',
    params,
  })) as { counts: ErasureCounts };
  expect(counts).toMatchObject({ sessions: 2, deadLetters: 1, artifacts: 1 });
  await bucket.get('default', own!.hash);

  const row = await erase(troupe.system, { tenant: 'default', kind: 'session', id: KEY });
  expect(row.counts).toEqual(counts);
  const gone = { code: 'NOT_FOUND' };
  await expect(bucket.get('default', own!.hash)).rejects.toMatchObject(gone);
  await bucket.get('default', shared!.hash);
});
