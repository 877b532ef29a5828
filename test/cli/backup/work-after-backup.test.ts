/** `troupe backup create --keep` whose backup is complete, and whose work afterwards fails. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createSystem, openEmbedded } from '../../../runtime/index.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { puppetType } from '../../runtime/system/puppet.ts';
import { runProgram } from '../program.ts';

it('names the complete backup before the error', async () => {
  const home = scratchFolder();
  const system = await createSystem({
    ...(await openEmbedded({ path: join(home, 'store') })),
    actors: [puppetType()],
    shards: 1,
  });
  await system.stop();
  const to = join(scratchFolder(), 'backups');
  const create = () =>
    runProgram(['backup', 'create', '--to', to, '--keep', '2', '--data', home], { home });
  expect(await create()).toMatchObject({ code: 0 });
  const ids = () => readdirSync(to).filter((name) => /^\d{8}T/.test(name));
  const [first] = ids();
  // its objects are not known any longer, so nothing can be removed
  writeFileSync(join(to, first!, 'manifest.json'), '{');
  const second = await create();
  expect(second.code).not.toBe(0);
  const [made] = ids().filter((id) => id !== first);
  expect(second.stderr).toContain(`the backup is complete: ${join(to, made!)}`);
  expect(second.stderr).toContain(first);
}, 60_000);
