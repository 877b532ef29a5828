/** The agents of OpenClaw and the files of their workspaces as items. */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { LeftOut } from '../../../installation/openclaw/found.ts';
import type { OpenClaw } from '../../../installation/openclaw/read.ts';
import { filesBelow, workspaceFiles } from '../../../installation/openclaw/workspace-files.ts';
import { filesFolder } from '../../../installation/workspaces.ts';
import { address, DEFAULT_TENANT } from '../../../protocols/address.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { type Config, makeFolder } from '../../../runtime/config/index.ts';
import { isClustered, notAFolder } from '../../agents/agent-workspace.ts';
import { loadFrom } from '../../options.ts';
import { type Destination, hashOf, type Item } from './items.ts';

const AGENT_ID = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** @param more agents that have sessions, although the configuration does not name them */
export function agentItems(
  { agents }: OpenClaw,
  more: ReadonlySet<string>,
): { readonly items: readonly Item[]; readonly leftOut: readonly LeftOut[] } {
  const named = new Map(agents.map((agent) => [agent.id, agent.name]));
  const ids = [...new Set([...named.keys(), ...more])];
  const leftOut = ids
    .filter((id) => !AGENT_ID.test(id))
    .map((id) => ({
      kind: 'agent',
      id,
      reason: 'its id is not valid here',
      isDamaged: true as const,
    }));
  const items = ids
    .filter((id) => AGENT_ID.test(id))
    .map((id): Item => {
      const name = named.get(id);
      const detail = 'its model is in the proposal';
      const write = (to: Destination) => createAgent(to, id, name);
      return { kind: 'agent', id, target: id, hash: hashOf([id, name]), detail, write };
    });
  return { items, leftOut };
}

/** An agent that is there is not changed. */
async function createAgent(
  { client }: Destination,
  id: string,
  name = id,
): Promise<'imported' | 'exists'> {
  const { agents } = await client.request('agents.list', {});
  if (agents.some((agent) => agent.id === id)) return 'exists';
  await client.request('agents.create', { name: id });
  if (name !== id)
    // In a cluster the files of the gateways hold the names.
    await client.request('agents.update', { agentId: id, name }).catch((error: unknown) => {
      if ((error as Partial<TroupeError>).code !== 'INVALID_ARGUMENT') throw error;
    });
  return 'imported';
}

export function fileItems({ state, config, agents }: OpenClaw): {
  readonly items: readonly Item[];
  readonly leftOut: readonly LeftOut[];
} {
  const leftOut: LeftOut[] = [];
  const items = agents.flatMap((agent) => {
    const { files, others } = workspaceFiles(state, config, agent);
    if (others.length > 0) {
      const names = others.slice(0, 5).join(', ') + (others.length > 5 ? ', …' : '');
      leftOut.push({ kind: 'file', id: `${agent.id}: ${names}`, reason: 'copy it yourself' });
    }
    return files.map(({ path, source }) =>
      fileItem(`${agent.id}/${path}`, source, `workspace of ${agent.id}`, (loaded) =>
        inWorkspace(loaded, agent.id, path),
      ),
    );
  });
  const shared = filesBelow(join(state, 'skills')).map(({ path, source }) =>
    fileItem(`skills/${path}`, source, 'skills of all agents', (loaded) =>
      join(loaded.skills.folder ?? join(loaded.home, 'skills'), path),
    ),
  );
  return { items: [...items, ...shared], leftOut };
}

/** @throws TroupeError CONFLICT where workspaces are not folders */
function inWorkspace(config: Config, agentId: string, path: string): string {
  const agent = address(DEFAULT_TENANT, 'agent', agentId);
  const folder = filesFolder(config, agent, isClustered(config));
  if (folder === undefined) throw notAFolder(agentId);
  return join(folder, path);
}

function fileItem(
  id: string,
  source: string,
  target: string,
  place: (config: Config) => string,
): Item {
  const content = readFileSync(source);
  const hash = createHash('sha256').update(content).digest('hex');
  const write = async ({ options }: Destination) => {
    const { config } = await loadFrom(options);
    return writeNew(place(config), content);
  };
  return { kind: 'file', id, target, hash, detail: `${content.length} bytes`, write };
}

/** @throws TroupeError CONFLICT when another file has the name: it is not replaced */
function writeNew(path: string, content: Buffer): 'imported' | 'exists' {
  if (existsSync(path)) {
    if (readFileSync(path).equals(content)) return 'exists';
    throw new TroupeError('CONFLICT', `${path} exists with other content: merge them yourself`);
  }
  makeFolder(dirname(path));
  const draft = `${path}.${randomBytes(6).toString('hex')}.new`;
  writeFileSync(draft, content, { flag: 'wx' });
  renameSync(draft, path);
  return 'imported';
}
