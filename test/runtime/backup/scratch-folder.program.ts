/** A process with a scratch folder in the folder of its argument, to be killed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withScratchFolder } from '../../../runtime/backup/scratch-folder.ts';

await withScratchFolder(process.argv[2]!, async (folder) => {
  writeFileSync(join(folder, 'rows'), 'not encrypted');
  process.stdout.write(`${folder}\n`);
  await new Promise(() => setInterval(() => {}, 1_000));
});
