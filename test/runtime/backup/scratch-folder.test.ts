/** What killed backups leave, next to folders that are in use. */
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { withScratchFolder } from '../../../runtime/backup/scratch-folder.ts';
import { LOCK_FILE } from '../../../runtime/log/folder-lock.ts';
import { scratchFolder } from '../config/folder.ts';
import { eventually } from '../eventually.ts';
import { bundle, type Program } from '../log/child.ts';

let program: Program;
beforeAll(async () => {
  program = await bundle(join(import.meta.dirname, 'scratch-folder.program.ts'));
});
afterAll(() => program.remove());

/** A process that uses a folder in `temporary`. */
async function use(temporary: string) {
  const child = program.start([temporary]);
  onTestFinished(() => void child.process.kill('SIGKILL'));
  const folder = await eventually(() => {
    const [line] = child.lines();
    if (line === undefined) throw new Error(`it has no folder yet: ${child.stderr()}`);
    return line;
  });
  const kill = async () => {
    child.process.kill('SIGKILL');
    await child.ended;
  };
  return { folder, kill };
}

it('removes the folder of a killed process, and neither one in use nor one of another program', async () => {
  const temporary = scratchFolder();
  const killed = await use(temporary);
  const running = await use(temporary);
  await killed.kill();
  mkdirSync(join(temporary, 'troupe-scratch-of-others'));
  await withScratchFolder(temporary, async (folder) => {
    expect(existsSync(dirname(killed.folder))).toBe(false);
    expect(existsSync(join(running.folder, 'rows'))).toBe(true);
    expect(readdirSync(temporary)).toContain('troupe-scratch-of-others');
    expect(existsSync(folder)).toBe(true);
  });
  expect(readdirSync(temporary)).toHaveLength(2);
});

it('leaves a folder whose process may not have its lock yet, for a minute', async () => {
  const temporary = scratchFolder();
  const { folder, kill } = await use(temporary);
  await kill();
  const lock = join(dirname(folder), LOCK_FILE);
  writeFileSync(lock, '');
  await withScratchFolder(temporary, async () => expect(existsSync(folder)).toBe(true));
  const at = Date.now() / 1_000 - 120;
  utimesSync(lock, at, at);
  await withScratchFolder(temporary, async () => expect(existsSync(folder)).toBe(false));
});
