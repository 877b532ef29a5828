/**
 * Places: one folder per actor on this machine (or volume), used by one opener at a time.
 *
 * Openers of this process wait in order. Between processes the kernel's lock decides
 * (`log/folder-lock.ts`). It ends with the process that has it, so no lock is ever stale and the
 * next process continues at once after a kill. On a file system without such locks, the exclusion
 * holds per machine only.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { TroupeError } from '../../protocols/errors.ts';
import type { Clock } from '../clock/clock.ts';
import { type FolderLock, lockFolder } from '../log/folder-lock.ts';

export type Place = {
  readonly folder: string;
  /** Admits the next one. May be repeated. */
  leave(): Promise<void>;
};

const POLL_MS = { first: 20, max: 500 };

export class Places {
  readonly #clock: Clock;
  /** resolves when the last holder of the name in this process has released it */
  readonly #last = new Map<string, Promise<void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Creates the folder `root`/`name`, but not `root`, and waits to be its only user. @throws the
   * signal's reason, or an error of the file system
   */
  async enter(root: string, name: string, signal: AbortSignal): Promise<Place> {
    const folder = join(root, name);
    const before = this.#last.get(folder) ?? Promise.resolve();
    let gone!: () => void;
    const left = new Promise<void>((resolve) => (gone = resolve));
    const last = before.then(() => left);
    this.#last.set(folder, last);
    void last.then(() => {
      if (this.#last.get(folder) === last) this.#last.delete(folder);
    });
    try {
      await orAborted(before, signal);
      const lock = await this.#lock(folder, signal);
      return { folder, leave: () => lock.release().then(gone) };
    } catch (error) {
      gone();
      throw error;
    }
  }

  async #lock(folder: string, signal: AbortSignal): Promise<FolderLock> {
    await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    for (let pollMs = POLL_MS.first; ; pollMs = Math.min(pollMs * 2, POLL_MS.max)) {
      try {
        return await lockFolder(folder);
      } catch (error) {
        if (!(error instanceof TroupeError && error.details?.['reason'] === 'LOCKED')) throw error;
      }
      const waited = new Promise<void>((resolve) => this.#clock.after(pollMs, resolve));
      await orAborted(waited, signal);
    }
  }
}

/** Resolves at the end of the wait, or rejects with the reason of an abort. */
function orAborted(wait: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    wait.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
