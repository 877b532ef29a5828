/**
 * Two sessions of an agent write the notes of one day in one moment, each from what it has read
 * before. No note is lost: within a process, one session has the workspace at a time; of two
 * workers, the one that saves later runs its call again on what the other one saved.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { keepingWorkspace } from '../../../../actors/session/effects/kept-workspace.ts';
import { createWriteTool } from '../../../../agent/tools/files/write.ts';
import { MemoryBlobs } from '../../../../runtime/blobs/memory.ts';
import type { EffectContext } from '../../../../runtime/index.ts';
import { WorkspacesOfEffect } from '../../../../runtime/workspaces/of-effect.ts';
import { syncedWorkspaces } from '../../../../runtime/workspaces/synced.ts';
import { temporaryFolder } from '../../../runtime/workspaces/temporary.ts';
import { toolContext } from '../../../agent/tools/context.ts';
import { AGENT, stage } from './stage.ts';

const SESSIONS = ['a', 'b', 'c'];
const path = 'memory/2026-11-30.md';
const first = '# 2026-11-30\n';
const { signal } = new AbortController();

/** A call of `write` with the notes that were read before, and one more. */
const written = (context: EffectContext, session: string) =>
  keepingWorkspace(context, async (attempt) => {
    const tool = toolContext({ workspace: () => attempt.workspace(AGENT) });
    const content = session === '' ? first : `${first}- of ${session}\n`;
    const { text, isError = false } = await createWriteTool().run({ path, content }, tool);
    return [{ callId: session, name: 'write', result: text, isError }];
  });

const race = async (run: (session: string) => ReturnType<typeof written>) => {
  await run('');
  const results = (await Promise.all(SESSIONS.map(run))).flat();
  return {
    writers: results.filter(({ isError }) => !isError).map(({ callId }) => callId),
    refusals: results.filter(({ isError }) => isError).map(({ result }) => result),
  };
};

/** One wrote its note, and the others learn that they must read again. */
function expectNoLoss({ writers, refusals }: Awaited<ReturnType<typeof race>>, notes: string) {
  expect(notes).toBe(`${first}- of ${writers[0]}\n`);
  expect(refusals).toHaveLength(2);
  for (const text of refusals) expect(text).toMatch(/is append only, and this content lacks notes/);
}

it('within one process, one of them writes and the others learn that they must read again', async () => {
  const { run, inWorkspace } = await stage();
  const raced = await race((session) => run((context) => written(context, session), session));
  await inWorkspace(async (root) => {
    expectNoLoss(raced, await readFile(join(root, path), 'utf8'));
  });
  expect(raced.writers).toHaveLength(1);
});

it('so they are on workers of their own', async () => {
  const blobs = new MemoryBlobs();
  const folder = await temporaryFolder();
  const workers = new Map(
    ['', 'reader', ...SESSIONS].map((name) => {
      const cacheFolder = join(folder, `worker-${name}`);
      return [name, syncedWorkspaces({ blobs, cell: 'cell', cacheFolder })] as const;
    }),
  );
  const { services } = await stage();
  const run = async (session: string) => {
    const opened = new WorkspacesOfEffect(workers.get(session), signal);
    const context = { actor: AGENT, services, workspace: () => opened.open(AGENT) };
    try {
      return await written(context as unknown as EffectContext, session);
    } finally {
      await opened.close();
    }
  };
  const raced = await race(run);
  const workspace = await workers.get('reader')!.open(AGENT, { signal });
  const notes = await readFile(join(workspace.path, path), 'utf8');
  await workspace.close();
  expectNoLoss(raced, notes);
  expect(raced.writers).toHaveLength(1);
});
