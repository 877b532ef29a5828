import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Cell } from '../../../loadtest/faults/cell.ts';
import { Guard } from '../../../loadtest/guard.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';

it('says what a program printed that cannot start', async () => {
  const folder = scratchFolder();
  const guard = new Guard(join(folder, 'cell'));
  onTestFinished(() => guard.close());
  // As the program does without a package that it needs.
  const error = JSON.stringify(
    { error: { message: "Cannot find package 'xstate'" } },
    undefined,
    2,
  );
  const script = write(
    folder,
    'program.mjs',
    `console.log(${JSON.stringify(error)}); process.exit(1)`,
  );
  const options = { folder: join(folder, 'cell'), guard, script, token: 'token', config: {} };
  const opened = Cell.open({ ...options, onCrash: () => {} }, new AbortController().signal);
  await expect(opened).rejects.toThrow(/troupe ended with exit code 1: .*Cannot find package/s);
});
