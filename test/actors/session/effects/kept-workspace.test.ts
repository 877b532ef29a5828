/** The outcome of calls when another worker saves their workspace while they run. */
import { readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { keepingWorkspace } from '../../../../actors/session/effects/kept-workspace.ts';
import { createSecretMask } from '../../../../agent/tools/secret-mask.ts';
import type { EffectContext } from '../../../../runtime/index.ts';
import { MemoryBlobs } from '../../../../runtime/blobs/memory.ts';
import { WorkspacesOfEffect } from '../../../../runtime/workspaces/of-effect.ts';
import { syncedWorkspaces } from '../../../../runtime/workspaces/synced.ts';
import { temporaryFolder } from '../../../runtime/workspaces/temporary.ts';
import { AGENT } from './stage.ts';

const { signal } = new AbortController();

/** Two workers of one cell, and an attempt of an effect on the first. */
async function twoWorkers() {
  const blobs = new MemoryBlobs();
  const folder = await temporaryFolder();
  const [here, there] = ['here', 'there'].map((name) =>
    syncedWorkspaces({ blobs, cell: 'cell', cacheFolder: join(folder, name) }),
  );
  const opened = new WorkspacesOfEffect(here, signal);
  const context = {
    actor: AGENT,
    services: { secrets: createSecretMask(['value-of-a-skill']) },
    workspace: (actor) => opened.open(actor ?? AGENT),
  } as EffectContext;
  /** Another session's work on the other worker. */
  const elsewhere = async (work: (path: string) => Promise<unknown>) => {
    const workspace = await there!.open(AGENT, { signal });
    await work(workspace.path);
    await workspace.save();
    await workspace.close();
  };
  return { context, elsewhere };
}

const result = (text: string) => [{ callId: 'c', name: 'exec', result: text, isError: false }];

it('calls that may be repeated are made again on what another worker saved meanwhile', async () => {
  const { context, elsewhere } = await twoWorkers();
  let tries = 0;
  const results = await keepingWorkspace(context, async (attempt) => {
    tries += 1;
    const { path } = await attempt.workspace();
    await writeFile(
      join(path, 'log'),
      `${await readFile(join(path, 'log'), 'utf8').catch(() => '')}b`,
    );
    if (tries < 3) await elsewhere((at) => writeFile(join(at, 'log'), 'a'.repeat(tries)));
    return result(`try ${tries}`);
  });
  expect(results).toEqual(result('try 3'));
  await elsewhere(async (path) => expect(await readFile(join(path, 'log'), 'utf8')).toBe('aab'));
});

it('calls end as CONFLICT when others save at each try', async () => {
  const { context, elsewhere } = await twoWorkers();
  let tries = 0;
  const work = async (attempt: EffectContext) => {
    const { path } = await attempt.workspace();
    await writeFile(join(path, 'mine'), '');
    tries += 1;
    await elsewhere((at) => writeFile(join(at, `theirs-${tries}`), ''));
    return result('done');
  };
  await expect(keepingWorkspace(context, work)).rejects.toMatchObject({ code: 'CONFLICT' });
  await elsewhere(async (path) => expect(await readdir(path)).toHaveLength(tries));
});

it('a call that may not run again keeps its answer and reports that its files are lost', async () => {
  const { context, elsewhere } = await twoWorkers();
  let tries = 0;
  const work = async (attempt: EffectContext) => {
    const { path } = await attempt.workspace();
    await writeFile(join(path, 'mine'), '');
    tries += 1;
    await elsewhere((at) => writeFile(join(at, 'theirs'), ''));
    return result('[exit code 0]');
  };
  const [outcome] = await keepingWorkspace(context, work, false);
  expect(tries).toBe(1);
  expect(outcome).toMatchObject({ isError: true });
  expect(outcome!.result).toMatch(
    /^\[exit code 0\]\n\[It ran, but what it changed .* is lost: another/,
  );
  await elsewhere(async (path) => expect(await readdir(path)).toEqual(['theirs']));
});

it('the names of what was left out hold no secret value, and are few', async () => {
  const { context, elsewhere } = await twoWorkers();
  const [outcome] = await keepingWorkspace(context, async (attempt) => {
    const { path } = await attempt.workspace();
    await writeFile(join(path, 'kept'), '');
    await symlink('/value-of-a-skill', join(path, 'a-value-of-a-skill'));
    for (let n = 100; n < 150; n++) await symlink('/etc/passwd', join(path, `b-${n}`));
    return result('[exit code 0]');
  });
  expect(outcome!.result).toContain('"a-***": it is a link to "/***"');
  expect(outcome!.result).toMatch(/"b-118": .*\nand 31 more\]$/);
  expect(outcome!.result).not.toContain('value-of-a-skill');
  expect(outcome).toMatchObject({ isError: false });
  await elsewhere(async (path) => expect(await readdir(path)).toEqual(['kept']));
});
