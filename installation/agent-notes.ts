/**
 * The notes of agents for operators. A folder of this machine is read in place. Of another
 * workspace the files are listed and read as they were saved last, beside a tool that works in it;
 * a search opens it, and waits for that tool.
 */
import { isNotePath, noteOf, WorkspaceNotes } from '../agent/tools/memory/workspace-notes.ts';
import { MAIN_MEMORY, MEMORY_FOLDER, type Question } from '../memory/index.ts';
import type { OperationServices } from '../operations/operation.ts';
import { defined } from '../protocols/defined.ts';
import { type Address, address } from '../protocols/address.ts';
import { systemClock } from '../runtime/index.ts';
import type { Workspaces } from '../runtime/workspaces/workspaces.ts';
import { batchesIn } from './memory-options.ts';
import { type InstallationParts, partsFor } from './tenant-parts.ts';
import { filesFolder } from './workspaces.ts';

export type AgentNotesParts = {
  readonly processServices: InstallationParts;
  readonly workspaces: Workspaces;
  readonly clustered: boolean;
};

/** How long it waits for a tool that works in a workspace. */
const OPEN_MS = 10_000;

export type WithNotes = <Result>(
  tenant: string,
  agentId: string,
  work: (files: WorkspaceNotes, owner: Address) => Promise<Result>,
  signal?: AbortSignal,
) => Promise<Result>;

/** Calls `work` with the notes of an agent. @throws TroupeError UNAVAILABLE */
export const notesOf =
  ({ processServices, workspaces, clustered }: AgentNotesParts): WithNotes =>
  async (tenant, agentId, work, signal = AbortSignal.timeout(OPEN_MS)) => {
    const { config, services } = partsFor(processServices, tenant);
    const owner = address(tenant, 'agent', agentId);
    const notesIn = (path: string) => new WorkspaceNotes(path, services.secrets);
    const folder = filesFolder(config, owner, clustered);
    if (folder !== undefined) return work(notesIn(folder), owner);
    const workspace = await workspaces.open(owner, { signal });
    try {
      return await work(notesIn(workspace.path), owner);
    } finally {
      await workspace.close();
    }
  };

export function agentNotes(parts: AgentNotesParts): OperationServices['notes'] {
  const { processServices } = parts;
  const within = notesOf(parts);
  return {
    async search(tenant, agentId, asked) {
      const { options, indexes } = partsFor(processServices, tenant).memory;
      const { query, maxResults = options.maxResults } = asked;
      const { minScore, ranking, embedder } = options;
      const now = systemClock.wallMs();
      const question: Question = { ...ranking, query, maxResults, minScore, now };
      const answer = await within(tenant, agentId, (files, owner) =>
        indexes.search(owner, files, question),
      );
      const { refused: _, usage: __, notStored: ___, ...found } = answer;
      return { ...found, ...defined({ model: embedder?.name }) };
    },
    list: (tenant, agentId) => savedNotes(parts, tenant, agentId).list(),
    read: async (tenant, agentId, path) =>
      isNotePath(path) ? savedNotes(parts, tenant, agentId).read(path) : undefined,
    assertBatches(tenant) {
      batchesIn(partsFor(processServices, tenant).memory);
    },
  };
}

type SavedNotes = {
  list(): Promise<readonly { readonly path: string; readonly bytes: number }[]>;
  read(path: string): Promise<string | undefined>;
};

/** Notes without waiting for a tool. @throws TroupeError UNAVAILABLE */
function savedNotes(
  { processServices, workspaces, clustered }: AgentNotesParts,
  tenant: string,
  agentId: string,
): SavedNotes {
  const { config, services } = partsFor(processServices, tenant);
  const owner = address(tenant, 'agent', agentId);
  const folder = filesFolder(config, owner, clustered);
  if (folder !== undefined) {
    const notes = new WorkspaceNotes(folder, services.secrets);
    return {
      list: async () => (await notes.list()).map(({ path, bytes }) => ({ path, bytes })),
      read: (path) => notes.read(path),
    };
  }
  return {
    async list() {
      const [main, files] = await Promise.all([
        workspaces.peek(owner, [MAIN_MEMORY]),
        workspaces.list(owner, MEMORY_FOLDER),
      ]);
      const all = [...main.files.map(({ path, size }) => ({ path, bytes: size })), ...files];
      return all.filter(({ path }) => isNotePath(path));
    },
    async read(path) {
      const isPlain = ({ path: listed }: { path: string }) => listed === path;
      if (path !== MAIN_MEMORY && !(await workspaces.list(owner, MEMORY_FOLDER)).some(isPlain))
        return undefined;
      const [file] = (await workspaces.peek(owner, [path])).files;
      return noteOf(file?.bytes, services.secrets);
    },
  };
}
