/** A restored backup that is older than an erasure would bring the erased data back. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { pendingFile } from '../../../installation/erasure/ledger.ts';
import * as backup from '../../../cli/backup/backup.ts';
import { restore } from '../../../cli/backup/restore.ts';
import { install } from '../../agent-runs/installation.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { erase, filesWith, OPEN_CONFIG } from './canary.ts';

const CANARY = 'xq7erased-canary';
const OTHER = 'zw3other-canary';
const KEY = 'agent:main:trial';
const TARGET = { tenant: 'default', kind: 'session', id: KEY } as const;

it('the first start of a restored folder repeats newer erasures', {
  timeout: 120_000,
}, async () => {
  const data = scratchFolder();
  const backups = scratchFolder();
  const troupe = await install({ config: OPEN_CONFIG, data });
  await troupe.run(KEY, `the user says ${CANARY}`);
  await troupe.run('agent:main:other', `the user says ${OTHER}`);
  await backup.create({ to: backups, data, json: true });
  await erase(troupe.system, TARGET);
  expect(filesWith(data, CANARY)).toEqual([]);
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  await backup.list({ from: backups, data });
  const shown = written.mock.calls.map(([text]) => String(text)).join('');
  written.mockRestore();
  expect(shown).toMatch(/contains data erased on \d{4}-\d\d-\d\d: erased at restore/);
  await troupe.stop();

  const into = join(scratchFolder(), 'restored');
  await restore(backups, { data: into, json: true });
  expect(filesWith(into, CANARY)).not.toEqual([]);
  expect(existsSync(pendingFile(into))).toBe(true);

  const restored = await install({ config: OPEN_CONFIG, data: into });
  expect(filesWith(into, CANARY)).toEqual([]);
  expect(existsSync(pendingFile(into))).toBe(false);
  expect(JSON.stringify(await restored.transcript('agent:main:other'))).toContain(OTHER);
  expect(await restored.transcript(KEY)).toEqual([]);
});
