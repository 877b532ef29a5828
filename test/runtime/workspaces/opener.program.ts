/**
 * A separate worker: opens the workspace, prints that, then writes files and saves repeatedly until
 * it is killed. Arguments: `folder` or `synced`, the root, the number of files per version.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { address } from '../../../protocols/address.ts';
import type { Blobs } from '../../../runtime/blobs/blobs.ts';
import { openFileBlobs } from '../../../runtime/blobs/files.ts';
import { folderWorkspaces } from '../../../runtime/workspaces/folder.ts';
import { syncedWorkspaces } from '../../../runtime/workspaces/synced.ts';

/**
 * The blobs' folder belongs to one process, so this process does not use it while another one has
 * the workspace.
 */
function lazily(open: () => Promise<Blobs>): Blobs {
  let opened: Promise<Blobs> | undefined;
  const blobs = () => (opened ??= open());
  return {
    put: async (name, bytes) => (await blobs()).put(name, bytes),
    get: async (name) => (await blobs()).get(name),
    delete: async (name) => (await blobs()).delete(name),
    list: async (prefix) => (await blobs()).list(prefix),
  };
}

const [kind, root = '', files] = process.argv.slice(2);
process.stdin.resume(); // stays while it waits
const cell = 'cell-1';
const workspaces =
  kind === 'folder'
    ? folderWorkspaces({ root, cell })
    : syncedWorkspaces({
        blobs: lazily(() => openFileBlobs(join(root, 'blobs'))),
        cacheFolder: join(root, 'cache'),
        cell,
        versionsKept: 2,
      });
const workspace = await workspaces.open(address('t', 'agent', 'a'), {
  signal: new AbortController().signal,
});
console.log(`opened ${workspace.version}`);
for (;;) {
  const next = workspace.version + 1;
  for (let n = 0; n < Number(files); n++)
    await writeFile(join(workspace.path, `file-${n}`), `${next} of file ${n}`);
  console.log(`saving ${next}`);
  await workspace.save();
  console.log(`saved ${workspace.version}`);
}
