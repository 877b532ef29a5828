/**
 * Logins to MCP servers: one file per server and tenant in the data folder, readable by its owner
 * only, which all processes of the machine share.
 *
 * Invariants: the file is replaced completely or not at all, also when a process is killed. The
 * kernel holds the lock of `exclusive`, so no killed process keeps it.
 */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoginStore, StoredLogin } from '../agent/mcp/oauth/login-store.ts';
import { TroupeError } from '../protocols/errors.ts';
import { TEMPORARY_PREFIX, writeFileDurably } from '../runtime/blobs/durable-file.ts';
import { type FolderLock, lockFolder } from '../runtime/log/folder-lock.ts';
import { makeFolder } from '../runtime/make-folder.ts';

/** How long `exclusive` waits for another process: longer than one renews a login. */
const LOCK_MS = 60_000;
const LOCK_PAUSE_MS = 50;

export const mcpLogins =
  (home: string) =>
  (tenant: string, server: string): LoginStore =>
    new LoginFile(join(home, 'mcp', 'logins', tenant, server));

class LoginFile implements LoginStore {
  readonly #folder: string;
  readonly #path: string;
  /** ends when the last caller of `exclusive` has ended; never rejects */
  #last: Promise<void> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
    this.#path = join(folder, 'login.json');
  }

  /** A file that cannot be read as a login counts as none. */
  async read(): Promise<StoredLogin | undefined> {
    try {
      const login: unknown = JSON.parse(await readFile(this.#path, 'utf8'));
      return isLogin(login) ? login : undefined;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || error instanceof SyntaxError) return undefined;
      throw new TroupeError('UNAVAILABLE', `${this.#path} cannot be read: ${code}`, {
        cause: error,
      });
    }
  }

  async write(login: StoredLogin | undefined): Promise<void> {
    if (login === undefined) return rm(this.#path, { force: true });
    makeFolder(this.#folder);
    await writeFileDurably(this.#path, Buffer.from(`${JSON.stringify(login)}\n`));
  }

  async exclusive<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => this.#locked(work));
    this.#last = turn.then(
      () => {},
      () => {},
    );
    return turn;
  }

  async #locked<T>(work: () => Promise<T>): Promise<T> {
    makeFolder(this.#folder);
    const lock = await this.#lock(Date.now() + LOCK_MS);
    try {
      await this.#removeDrafts();
      return await work();
    } finally {
      await lock.release();
    }
  }

  async #lock(until: number): Promise<FolderLock> {
    for (;;) {
      try {
        return await lockFolder(this.#folder);
      } catch (error) {
        const isLocked = error instanceof TroupeError && error.details?.['reason'] === 'LOCKED';
        if (!isLocked || Date.now() > until) throw error;
        await sleep(LOCK_PAUSE_MS);
      }
    }
  }

  /** Of processes that were killed while they wrote. */
  async #removeDrafts(): Promise<void> {
    const drafts = (await readdir(this.#folder)).filter((name) =>
      name.startsWith(TEMPORARY_PREFIX),
    );
    await Promise.all(drafts.map((name) => rm(join(this.#folder, name), { force: true })));
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

function isLogin(value: unknown): value is StoredLogin {
  if (!isRecord(value)) return false;
  const { url, issuer, client, tokens } = value;
  if (typeof url !== 'string' || typeof issuer !== 'string') return false;
  if (!isRecord(client) || typeof client['client_id'] !== 'string') return false;
  return tokens === undefined || (isRecord(tokens) && typeof tokens['access_token'] === 'string');
}
