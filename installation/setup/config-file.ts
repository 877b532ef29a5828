/**
 * ConfigFile: reads and replaces the configuration file of this process (`config.*`).
 *
 * Invariants:
 *  1. The loader never sees a file that it would refuse: a new text is checked before it replaces
 *     the file, as at a start.
 *  2. After a crash the file is the old one or the new one; the old one remains as `.bak`.
 *  3. No change is lost: a client that replaces the file sends the hash of the text that it read
 *     (`baseHash`). Changes within this process are serial.
 *
 * config-editor.ts decides which effect a change has on the running process.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import JSON5 from 'json5';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import {
  type Config,
  ConfigError,
  configFileName,
  loadConfig,
  problemText,
} from '../../runtime/config/index.ts';
import { startRules } from '../start-rules.ts';
import { mergePatch } from './merge-patch.ts';

export type Document = Readonly<Record<string, unknown>>;

export type FileText = {
  readonly path: string;
  /** undefined: there is no file yet */
  readonly text?: string;
  readonly document: Document;
  /** null: there is no file yet */
  readonly hash: string | null;
};

export type Replaced = { readonly config: Config; readonly backup?: string };

/** Longest text, characters. */
const TEXT_CHARACTERS_MAX = 1_048_576;

export class ConfigFile {
  readonly path: string;
  readonly #home: string;
  #last: Promise<unknown> = Promise.resolve();

  constructor({ file, home }: { readonly file?: string | undefined; readonly home: string }) {
    this.path = file ?? join(home, configFileName);
    this.#home = home;
  }

  /** @throws TroupeError UNAVAILABLE when it cannot be read, or is no longer JSON5 */
  read(): FileText {
    let text: string;
    try {
      text = readFileSync(this.path, 'utf8');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return { path: this.path, document: {}, hash: null };
      throw new TroupeError('UNAVAILABLE', `${this.path} cannot be read (${code})`);
    }
    return { path: this.path, text, document: parsed(text), hash: hashOf(text) };
  }

  /** The configuration of the next start. @throws ConfigError */
  load(): Config {
    return this.#load(this.path);
  }

  /**
   * Replaces the file by the result of `change`. `config`: the configuration as loaded now.
   * @throws TroupeError CONFLICT when the file is not the one of `baseHash`; INVALID_ARGUMENT for
   *   what the loader refuses
   */
  replace(baseHash: string | undefined, change: (before: FileText) => string): Promise<Replaced> {
    const next = this.#last.then(() => this.#replace(baseHash, change));
    this.#last = next.catch(() => {});
    return next;
  }

  /**
   * Merges a patch into the file (RFC 7396: null removes a key). Comments are lost.
   * @throws TroupeError as `replace`, and what `check` throws for the present document
   */
  merge(patch: Document, check: (before: Document) => void = () => {}): Promise<Replaced> {
    return this.replace(this.read().hash ?? undefined, ({ document }) => {
      check(document);
      return textOf(mergePatch(document, patch, new Set()));
    });
  }

  async #replace(
    baseHash: string | undefined,
    change: (before: FileText) => string,
  ): Promise<Replaced> {
    const before = this.read();
    if (before.hash !== null && before.hash !== baseHash) throw changedMeanwhile(baseHash);
    const text = change(before);
    if (text.length > TEXT_CHARACTERS_MAX) {
      throw new TroupeError('PAYLOAD_TOO_LARGE', 'the limit of a configuration is 1 MiB');
    }
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    const draft = join(dirname(this.path), `.${basename(this.path)}.${randomUUID()}`);
    try {
      await writeDurably(draft, text);
      const config = this.#check(draft);
      const backup = before.hash === null ? undefined : `${this.path}.bak`;
      if (backup !== undefined) {
        await copyFile(this.path, backup);
        await chmod(backup, 0o600);
      }
      await rename(draft, this.path);
      return { config, ...defined({ backup }) };
    } finally {
      await rm(draft, { force: true });
    }
  }

  /** @throws TroupeError INVALID_ARGUMENT with every problem, at its place in the text */
  #check(draft: string): Config {
    try {
      return this.#load(draft);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const message = error.message.replaceAll(draft, basename(this.path));
      const issues = error.problems.map((one) => ({ path: one.path, message: problemText(one) }));
      throw new TroupeError('INVALID_ARGUMENT', message, { details: { issues } });
    }
  }

  #load(file: string): Config {
    const flags = { data: this.#home };
    return loadConfig({ file, env: process.env, flags, rules: startRules }).config;
  }
}

/** A document as text of the file. */
export const textOf = (document: unknown): string => `${JSON5.stringify(document, null, 2)}\n`;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** @throws TroupeError UNAVAILABLE */
const parsed = (text: string): Document => {
  try {
    const value: unknown = JSON5.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Document;
    }
  } catch {
    // said below
  }
  throw new TroupeError(
    'UNAVAILABLE',
    'the configuration file is no longer a JSON5 object: correct it, or restore its .bak',
  );
};

const changedMeanwhile = (baseHash: string | undefined): TroupeError =>
  baseHash === undefined || baseHash === ''
    ? new TroupeError(
        'INVALID_ARGUMENT',
        '/baseHash is missing: send the hash that config.get returns, so that no other change is lost',
      )
    : new TroupeError(
        'CONFLICT',
        'the configuration has changed since it was read: read it again with config.get, and ' +
          'repeat the change',
      );

const writeDurably = async (path: string, text: string): Promise<void> => {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
};
