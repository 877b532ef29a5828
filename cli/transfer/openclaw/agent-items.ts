/** The agents of OpenClaw and the files of their workspaces as items. */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { LeftOut } from '../../../installation/openclaw/found.ts';
import type { OpenClaw } from '../../../installation/openclaw/read.ts';
import { filesBelow, workspaceFiles } from '../../../installation/openclaw/workspace-files.ts';
import { filesFolder } from '../../../installation/workspaces.ts';
import { address, DEFAULT_TENANT } from '../../../protocols/address.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { type Config, makeFolder } from '../../../runtime/config/index.ts';
import { isClustered, notAFolder } from '../../agents/agent-workspace.ts';
import { type CommonOptions, loadFrom } from '../../options.ts';
import { type Destination, hashOf, type Item } from './items.ts';

const AGENT_ID = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const FILE_BYTES_MAX = 16 * 2 ** 20;

/** @param more agents that have sessions, although the configuration does not name them */
export function agentItems(
  { agents }: OpenClaw,
  more: ReadonlySet<string>,
): { readonly items: readonly Item[]; readonly leftOut: readonly LeftOut[] } {
  const named = new Map(agents.map((agent) => [agent.id, agent]));
  const ids = [...new Set([...named.keys(), ...more])];
  const invalid = ids
    .filter((id) => !AGENT_ID.test(id))
    .map((id): LeftOut => {
      return { kind: 'agent', id, reason: 'its id is not valid here', isDamaged: true };
    });
  const repeated = agents.flatMap(({ id, written, repeated: others }) =>
    others.map((other): LeftOut => {
      const reason = `the same agent as ${written}, whose settings OpenClaw uses: ids differ here in more than case`;
      return { kind: 'agent', id: other === written ? `${id} (again)` : other, reason };
    }),
  );
  const items = ids
    .filter((id) => AGENT_ID.test(id))
    .map((target): Item => {
      const { written = target, name } = named.get(target) ?? {};
      const detail = 'its model is in the proposal';
      const write = (to: Destination) => createAgent(to, target, name);
      return { kind: 'agent', id: written, target, hash: hashOf([target, name]), detail, write };
    });
  return { items, leftOut: [...invalid, ...repeated] };
}

/** An agent that is there is not changed. */
async function createAgent(
  { client, options }: Destination,
  id: string,
  name = id,
): Promise<'imported' | 'exists'> {
  const { agents } = await client.request('agents.list', {});
  if (agents.some((agent) => agent.id === id)) return 'exists';
  await keepConfiguration(options);
  await client.request('agents.create', { name: id });
  if (name !== id)
    // In a cluster the files of the gateways hold the names.
    await client.request('agents.update', { agentId: id, name }).catch((error: unknown) => {
      if ((error as Partial<TroupeError>).code !== 'INVALID_ARGUMENT') throw error;
    });
  return 'imported';
}

/**
 * Copies the configuration file of the user before its first change: the gateway writes it without
 * comments, and its `.bak` is only the text before the last agent.
 */
async function keepConfiguration(options: CommonOptions): Promise<void> {
  const { file } = await loadFrom(options);
  if (file === undefined || !existsSync(file)) return;
  const copy = `${file}.before-openclaw`;
  try {
    writeFileSync(copy, readFileSync(file), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw error;
  }
  process.stderr.write(
    `agents are added to ${file}, without its comments; its text until now is ${copy}\n`,
  );
}

export function fileItems({ state, config, agents }: OpenClaw): {
  readonly items: readonly Item[];
  readonly leftOut: readonly LeftOut[];
} {
  const leftOut: LeftOut[] = [];
  const valid = agents.filter(({ id }) => AGENT_ID.test(id));
  const items = valid.flatMap((agent) => {
    const { files, others } = workspaceFiles(state, config, agent);
    if (others.length > 0) {
      const names = others.slice(0, 5).join(', ') + (others.length > 5 ? ', …' : '');
      leftOut.push({ kind: 'file', id: `${agent.id}: ${names}`, reason: 'copy it yourself' });
    }
    return files.map(({ path, source }) => ({
      id: `${agent.id}/${path}`,
      source,
      target: `workspace of ${agent.id}`,
      place: (loaded: Config) => inWorkspace(loaded, agent.id, path),
    }));
  });
  const shared = filesBelow(join(state, 'skills')).map(({ path, source }) => ({
    id: `skills/${path}`,
    source,
    target: 'skills of all agents',
    place: (loaded: Config) => join(loaded.skills.folder ?? join(loaded.home, 'skills'), path),
  }));
  const readable = [...items, ...shared].flatMap((file): readonly Item[] => {
    try {
      return [fileItem(file)];
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      leftOut.push({ kind: 'file', id: file.id, reason, isDamaged: true });
      return [];
    }
  });
  return { items: readable, leftOut };
}

/** @throws TroupeError CONFLICT where workspaces are not folders */
function inWorkspace(config: Config, agentId: string, path: string): string {
  const agent = address(DEFAULT_TENANT, 'agent', agentId);
  const folder = filesFolder(config, agent, isClustered(config));
  if (folder === undefined) throw notAFolder(agentId);
  return join(folder, path);
}

type SourceFile = {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly place: (config: Config) => string;
};

/** @throws Error when the file cannot be read, or is too large */
function fileItem({ id, source, target, place }: SourceFile): Item {
  const { size } = statSync(source);
  if (size > FILE_BYTES_MAX) throw new Error(`${source} is over 16 MiB: copy it yourself`);
  const content = readFileSync(source);
  const hash = createHash('sha256').update(content).digest('hex');
  const write = async ({ options }: Destination) => {
    const { config } = await loadFrom(options);
    return writeNew(place(config), readFileSync(source));
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
