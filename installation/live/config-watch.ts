/**
 * ConfigWatch: notices when the content of the configuration file changes, and loads it as a start
 * would. Editors replace a file by renaming another one, so the folder is watched.
 */
import { createHash } from 'node:crypto';
import { type FSWatcher, readFileSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import { errorData } from '../../protocols/errors.ts';
import { type Config, ConfigError } from '../../runtime/config/index.ts';
import type { LiveConfig } from './live-config.ts';

/** Editors write a file in several steps. */
const SETTLE_MS = 100;
/**
 * For a file in another folder that a symbolic link leads to, where the system cannot watch a
 * folder, and for events that it lost.
 */
const LOOK_MS = 800;

/** The file of the process, and how it is loaded: with the flags and variables of the start. */
export type ConfigSource = {
  readonly file: string;
  /** @throws ConfigError with every problem */
  readonly load: () => Config | Promise<Config>;
};

export class ConfigWatch {
  readonly #source: ConfigSource;
  readonly #live: LiveConfig;
  readonly #look: NodeJS.Timeout;
  #watcher: FSWatcher | undefined;
  #settling: NodeJS.Timeout | undefined;
  #seen: string | undefined;
  #reading: Promise<void> = Promise.resolve();

  constructor(source: ConfigSource, live: LiveConfig) {
    this.#source = source;
    this.#live = live;
    this.#seen = hashOf(source.file);
    this.#look = setInterval(() => this.#check(), LOOK_MS).unref();
    try {
      this.#watcher = watch(dirname(source.file), { persistent: false }, () => this.#settle());
      this.#watcher.on('error', () => this.#watcher?.close());
    } catch {
      // The interval finds the change.
    }
  }

  /**
   * The process itself has replaced the file. Resolves when the content is in effect.
   * @param by who changed it
   * @throws what `load` and the parts of the process throw
   */
  async written(by: string): Promise<void> {
    const { file, load } = this.#source;
    this.#seen = hashOf(file);
    await this.#live.fileChanged(await load(), by);
  }

  close(): void {
    clearInterval(this.#look);
    clearTimeout(this.#settling);
    this.#watcher?.close();
  }

  #settle(): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#check(), SETTLE_MS).unref();
  }

  #check(): void {
    this.#reading = this.#reading.then(() => this.#read());
  }

  /** Never rejects. */
  async #read(): Promise<void> {
    const hash = hashOf(this.#source.file);
    // A file that is missing is being replaced, or was removed: the running values stay.
    if (hash === undefined || hash === this.#seen) return;
    this.#seen = hash;
    try {
      const { file } = this.#source;
      await this.#live.fileChanged(await this.#source.load(), `file ${file}`);
    } catch (error) {
      const problems =
        error instanceof ConfigError
          ? error.problems
          : [{ path: '', message: errorData(error).message }];
      this.#live.fileRefused(problems);
    }
  }
}

const hashOf = (file: string): string | undefined => {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('hex');
  } catch {
    return undefined;
  }
};
