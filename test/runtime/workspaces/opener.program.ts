/**
 * A worker of its own: opens the workspace, says so, writes files and saves again and again until
 * it is killed. Arguments: `folder` or `synced`, the root, how many files each version has.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { address } from '../../../protocols/address.ts';
import { openFileBlobs } from '../../../runtime/blobs/files.ts';
import { folderWorkspaces } from '../../../runtime/workspaces/folder.ts';
import { syncedWorkspaces } from '../../../runtime/workspaces/synced.ts';

const [kind, root = '', files] = process.argv.slice(2);
process.stdin.resume(); // stays while it waits
const cell = 'cell-1';
const workspaces =
  kind === 'folder'
    ? folderWorkspaces({ root, cell })
    : syncedWorkspaces({
        blobs: await openFileBlobs(join(root, 'blobs')),
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
