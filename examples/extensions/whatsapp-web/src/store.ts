/**
 * The credentials and keys of one link, in one file: lines of JSON, the newest value wins.
 *
 * Baileys' own `useMultiFileAuthState` writes its files in place, so a kill can leave an empty one
 * and lose the link. Here a change is one appended line, on the disk before Baileys continues. The
 * keys of one call are one line, so all of them are kept or none.
 *
 * Invariants: a last line without its end was never acknowledged and is dropped. The file is
 * replaced only by a complete one.
 */
import { closeSync, existsSync, readFileSync, renameSync } from 'node:fs';
import { type Auth, type Creds, initAuthCreds, type KeySet, proto } from 'baileys';
import { openForLines, writeDurably, writeWhole } from './durable.ts';

/** The file is rewritten when it has this many characters more than after the last time. */
const GROWTH_MAX = 8_388_608;

type Line = { readonly creds?: Creds; readonly keys?: KeySet };

export class Store {
  readonly #file: string;
  readonly #keys = new Map<string, unknown>();
  #creds: Creds = initAuthCreds();
  #descriptor: number;
  #growth = 0;

  /** @throws Error when the file is damaged */
  constructor(file: string) {
    this.#file = file;
    if (existsSync(file)) for (const line of linesOf(file)) this.#apply(line);
    this.#descriptor = this.#rewrite();
  }

  /** `me` is set earlier, when linking starts. */
  get isLinked(): boolean {
    return this.#creds.account !== undefined;
  }

  get creds(): Creds {
    return this.#creds;
  }

  auth(): Auth {
    return {
      creds: this.#creds,
      keys: {
        get: (type, ids) =>
          Promise.resolve(Object.fromEntries(ids.map((id) => [id, this.#key(type, id)]))),
        set: (keys) => {
          this.#append({ keys });
          return Promise.resolve();
        },
      },
    };
  }

  update(change: Partial<Creds>): void {
    // Baileys changes the same object.
    Object.assign(this.#creds, change);
    this.#append({ creds: this.#creds });
  }

  /** Forgets a link that did not succeed, or has ended: of the latter, a copy is kept. */
  startOver(): void {
    this.close();
    if (this.isLinked) renameSync(this.#file, `${this.#file}.former`);
    this.#keys.clear();
    this.#creds = initAuthCreds();
    this.#descriptor = this.#rewrite();
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #key(type: string, id: string): unknown {
    const value = this.#keys.get(`${type} ${id}`);
    return type === 'app-state-sync-key' && value
      ? proto.Message.AppStateSyncKeyData.fromObject(value)
      : value;
  }

  #apply({ creds, keys = {} }: Line): void {
    if (creds) this.#creds = creds;
    for (const [type, values] of Object.entries(keys))
      for (const [id, value] of Object.entries(values))
        if (value === null || value === undefined) this.#keys.delete(`${type} ${id}`);
        else this.#keys.set(`${type} ${id}`, value);
  }

  #append(line: Line): void {
    const text = textOf(line);
    writeWhole(this.#descriptor, text);
    this.#apply(line);
    this.#growth += text.length;
    if (this.#growth < GROWTH_MAX) return;
    this.close();
    this.#descriptor = this.#rewrite();
  }

  /** Writes what is known as a new file. Returns its descriptor, for lines at its end. */
  #rewrite(): number {
    const keys: Record<string, Record<string, unknown>> = {};
    for (const [name, value] of this.#keys) {
      const [type, id] = [name.slice(0, name.indexOf(' ')), name.slice(name.indexOf(' ') + 1)];
      (keys[type] ??= {})[id] = value;
    }
    writeDurably(this.#file, textOf({ creds: this.#creds, keys }));
    this.#growth = 0;
    return openForLines(this.#file);
  }
}

function linesOf(file: string): Line[] {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  try {
    return lines.map((line) => JSON.parse(line, revived) as Line);
  } catch (error) {
    throw new Error(`${file} is damaged: restore it, or delete it and link again`, {
      cause: error,
    });
  }
}

const textOf = (line: Line): string => `${JSON.stringify(line, bytesAsText)}\n`;

function bytesAsText(this: unknown, name: string, value: unknown): unknown {
  // `value` is already what `toJSON` of a Buffer returns
  const original = (this as Readonly<Record<string, unknown>>)[name];
  if (!(original instanceof Uint8Array)) return value;
  return { $bytes: Buffer.from(original).toString('base64') };
}

function revived(_: string, value: unknown): unknown {
  const { $bytes } = (value ?? {}) as { readonly $bytes?: unknown };
  return typeof $bytes === 'string' ? Buffer.from($bytes, 'base64') : value;
}
