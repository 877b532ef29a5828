/** Where the files of agents are, by configuration, with real folders. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { workspacesOf } from '../../installation/workspaces.ts';
import { address } from '../../protocols/address.ts';
import { MemoryBlobs } from '../../runtime/blobs/memory.ts';
import { load } from '../runtime/config/folder.ts';

const parts = { blobs: new MemoryBlobs(), cell: 'cell-1' };
const { signal } = new AbortController();
const NAMED = `agents: { defaults: { workspace: 'agents' }, agents: [{ id: 'a' }, { id: 'b', workspace: 'other' }] }`;

it('agents work in the folders that the configuration names, and sessions elsewhere', async () => {
  const { config, home } = load(`{ ${NAMED}, tenants: { acme: { token: 'x' } } }`);
  const workspaces = workspacesOf(config, parts);
  const write = async (actor: ReturnType<typeof address>) => {
    const workspace = await workspaces.open(actor, { signal });
    writeFileSync(join(workspace.path, 'note'), actor);
    await workspace.save();
    await workspace.close();
    return workspace.path;
  };
  expect(await write(address('default', 'agent', 'a'))).toBe(join(home, 'agents/a'));
  expect(await write(address('default', 'agent', 'b'))).toBe(join(home, 'other'));
  const elsewhere = [address('acme', 'agent', 'a'), address('default', 'session', 'agent:a:main')];
  for (const actor of elsewhere)
    expect(await write(actor)).toMatch(new RegExp(`^${config.home}/workspaces/`));
  expect(readdirSync(join(home, 'agents/a'))).toEqual(['note']);
  const { files } = await workspaces.peek(address('default', 'agent', 'b'), ['note']);
  expect(files.map(({ bytes }) => Buffer.from(bytes ?? []).toString())).toEqual([
    'default/agent/b',
  ]);
});

it('a cluster whose workspaces are copies refuses named folders, and says what to set', () => {
  const { config } = load(`{ ${NAMED} }`);
  expect(() => workspacesOf(config, { ...parts, node: 'w1' })).toThrow(
    /agents\.agents\[0\]\.workspace names .*runtime\.workspaces\.provider to folder/,
  );
});
