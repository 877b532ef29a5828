/** The notes of agents for operators, with real workspaces. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { agentNotes } from '../../installation/agent-notes.ts';
import { installationParts } from '../../installation/tenant-parts.ts';
import { workspacesOf } from '../../installation/workspaces.ts';
import { address } from '../../protocols/address.ts';
import { MemoryBlobs } from '../../runtime/blobs/memory.ts';
import { load } from '../runtime/config/folder.ts';

const { signal } = new AbortController();
const owner = address('default', 'agent', 'main');

it.each([
  ['a synced workspace', { node: 'w1' }],
  ['the folder of a single process', {}],
] as const)('of %s are listed and read beside a tool that works in it', async (_, where) => {
  const { config } = load('{}');
  const blobs = new MemoryBlobs();
  const clustered = 'node' in where;
  const never = new Promise<never>(() => {});
  const processServices = installationParts(config, {
    clustered,
    ownTools: [],
    providers: [],
    bucket: never,
    blobs: Promise.resolve(blobs),
  });
  const workspaces = workspacesOf(config, { blobs, cell: 'cell-1', ...where });
  const notes = agentNotes({ processServices, workspaces, clustered });
  expect(await notes.list('default', 'main')).toEqual([]);

  const tool = await workspaces.open(owner, { signal });
  mkdirSync(join(tool.path, 'memory/trips'), { recursive: true });
  writeFileSync(join(tool.path, 'MEMORY.md'), 'likes tea');
  writeFileSync(join(tool.path, 'memory/trips/rome.md'), 'rome in may');
  writeFileSync(join(tool.path, 'memory/other.txt'), 'no note');
  writeFileSync(join(tool.path, 'secret.md'), 'beside the notes');
  symlinkSync('../secret.md', join(tool.path, 'memory/link.md'));
  await tool.save();
  try {
    expect(await notes.list('default', 'main')).toEqual([
      { path: 'MEMORY.md', bytes: 9 },
      { path: 'memory/trips/rome.md', bytes: 11 },
    ]);
    expect(await notes.read('default', 'main', 'memory/trips/rome.md')).toBe('rome in may');
    expect(await notes.read('default', 'main', 'MEMORY.md')).toBe('likes tea');
    for (const path of ['memory/link.md', 'memory/absent.md', 'memory/../secret.md', 'secret.md'])
      expect(await notes.read('default', 'main', path)).toBeUndefined();
  } finally {
    await tool.close();
  }
});
