/**
 * AgentFolders: remote access of operators to the files of an agent's workspace that are part of
 * its prompt (`agents.files.*`).
 *
 * Invariants:
 *  1. Only files of AGENT_FILES, at the top of the workspace: no path comes from a client.
 *  2. A write waits for a tool that works in the folder, and is saved like a tool's write: in a
 *     cluster every worker receives it.
 */
import { constants } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { CONTEXT_FILES } from '../../agent/prompt/sources.ts';
import type { AgentSetup, RemovedFiles } from '../../channels/index.ts';
import { type Address, address } from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { AgentFile } from '../../protocols/gateway/index.ts';
import { type Config, workspaceFolderOf } from '../../runtime/config/index.ts';
import type { PeekedFile } from '../../runtime/workspaces/peek.ts';
import type { Workspaces } from '../../runtime/workspaces/workspaces.ts';
import { filesFolder } from '../workspaces.ts';

export const AGENT_FILES: readonly string[] = CONTEXT_FILES;
/** Larger files are not read into a prompt either. */
const BYTES_MAX = 1_048_576;
/** How long it waits for a tool that works in the folder. */
const OPEN_MS = 30_000;

export type AgentFoldersOptions = {
  readonly tenant: string;
  /** the tenant's configuration */
  readonly config: Config;
  readonly clustered: boolean;
  readonly workspaces: Workspaces;
  /** whether the agent exists */
  readonly isKnown: (agentId: string) => boolean;
};

export class AgentFolders implements Pick<AgentSetup, 'files' | 'file' | 'write'> {
  readonly #o: AgentFoldersOptions;

  constructor(options: AgentFoldersOptions) {
    this.#o = options;
  }

  /** The location that operators see: a folder of this machine, or the owner in the store. */
  nameOf(agentId: string): string {
    return this.#folderOf(agentId) ?? `workspace of ${agentId}`;
  }

  async files(agentId: string) {
    const found = await this.#peek(agentId, AGENT_FILES);
    const files = AGENT_FILES.map((name) => this.#fileOf(agentId, name, found.get(name)));
    return { workspace: this.nameOf(agentId), files: await Promise.all(files) };
  }

  async file(agentId: string, name: string) {
    this.#check(agentId, name);
    const found = (await this.#peek(agentId, [name])).get(name);
    const file = await this.#fileOf(agentId, name, found);
    const content = textOf(name, found);
    return { workspace: this.nameOf(agentId), file: { ...file, content } };
  }

  async write(agentId: string, name: string, content: string) {
    this.#check(agentId, name);
    if (Buffer.byteLength(content) > BYTES_MAX) {
      throw new TroupeError('PAYLOAD_TOO_LARGE', `/content is longer than ${BYTES_MAX} bytes`);
    }
    const signal = AbortSignal.timeout(OPEN_MS);
    const workspace = await this.#o.workspaces.open(this.#agentOf(agentId), { signal });
    try {
      await putInPlace(workspace.path, name, content);
      await workspace.save();
    } finally {
      await workspace.close();
    }
    return this.file(agentId, name);
  }

  /** Moves the folder to a place from which an operator can restore it. Never throws. */
  async discard(agentId: string): Promise<RemovedFiles> {
    const path = this.#folderOf(agentId);
    if (path === undefined) {
      const reason = 'the files are in the store of the cluster and are kept';
      return { removed: [], failed: [{ path: this.nameOf(agentId), reason }] };
    }
    if (workspaceFolderOf(this.#o.config, this.#agentOf(agentId)) !== undefined) {
      const reason = 'the configuration names this folder: troupe does not remove it';
      return { removed: [], failed: [{ path, reason }] };
    }
    try {
      const trash = join(this.#o.config.home, 'trash');
      await mkdir(trash, { recursive: true, mode: 0o700 });
      await rename(path, join(trash, `${agentId}-${randomUUID()}`));
      return { removed: [{ path, method: 'trash' }], failed: [] };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return { removed: [{ path, method: 'missing' }], failed: [] };
      return { removed: [], failed: [{ path, reason: `it cannot be moved (${code})` }] };
    }
  }

  async #peek(agentId: string, names: readonly string[]): Promise<Map<string, PeekedFile>> {
    this.#check(agentId);
    const { files } = await this.#o.workspaces.peek(this.#agentOf(agentId), names);
    return new Map(files.map((file) => [file.path, file]));
  }

  async #fileOf(agentId: string, name: string, found: PeekedFile | undefined): Promise<AgentFile> {
    const folder = this.#folderOf(agentId);
    const path = folder === undefined ? name : join(folder, name);
    if (found === undefined) return { name, path, missing: true };
    const times = folder === undefined ? undefined : await stat(path).catch(() => undefined);
    return {
      name,
      path,
      missing: false,
      size: found.size,
      ...(times === undefined ? {} : { updatedAtMs: Math.round(times.mtimeMs) }),
    };
  }

  /** @throws TroupeError NOT_FOUND */
  #check(agentId: string, name?: string): void {
    if (!this.#o.isKnown(agentId)) {
      throw new TroupeError('NOT_FOUND', `unknown agent id "${agentId.slice(0, 80)}"`, {
        details: { code: 'UNKNOWN_AGENT_ID' },
      });
    }
    if (name === undefined || AGENT_FILES.includes(name)) return;
    throw new TroupeError(
      'NOT_FOUND',
      `there is no file ${JSON.stringify(name.slice(0, 80))} among ${AGENT_FILES.join(', ')}`,
    );
  }

  #folderOf(agentId: string): string | undefined {
    const { config, clustered } = this.#o;
    return filesFolder(config, this.#agentOf(agentId), clustered);
  }

  #agentOf(agentId: string): Address {
    return address(this.#o.tenant, 'agent', agentId);
  }
}

/** @throws TroupeError CONFLICT for a file that is not text */
const textOf = (name: string, found: PeekedFile | undefined): string => {
  if (found === undefined) return '';
  const { bytes, left } = found;
  if (bytes === undefined) {
    throw new TroupeError('CONFLICT', `${name} cannot be shown: ${left ?? 'it cannot be read'}`);
  }
  return Buffer.from(bytes).toString('utf8');
};

/** Atomic; replaces a link instead of writing to its target. */
const putInPlace = async (folder: string, name: string, content: string): Promise<void> => {
  const draft = join(folder, `.${name}.${randomUUID()}`);
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
    const file = await open(draft, flags, 0o644);
    try {
      await file.writeFile(content);
    } finally {
      await file.close();
    }
    await rename(draft, join(folder, name));
  } finally {
    await rm(draft, { force: true });
  }
};
