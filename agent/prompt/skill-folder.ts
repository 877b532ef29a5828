/**
 * SkillFolder: the shared skills of a tenant as other programs get them: every file with its
 * digest. Known secrets are masked, also in files that are no text; digests and sizes are those of
 * the masked contents. Files and folders with a secret in their names are not served.
 *
 * Only skills are served that conform to the Agent Skills specification, and that every client
 * accepts: with names of lower-case letters, digits and single dashes, at most 512 files and 16
 * MiB. A larger file than 1 MiB leaves its skill out, because a list of files must be complete.
 * Hidden files and links are no part of a skill.
 *
 * Boundary: reads one folder, which may change or be missing; what did not change is hashed once.
 * Nothing outside of a skill's folder is read. Skills are hashed one after another, so that many
 * requests need the memory of one.
 */
import { createHash } from 'node:crypto';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { utf8Text } from '../../protocols/utf8-text.ts';
import { isAbsent, LruMap, type Peeked, peekFolder } from '../../runtime/index.ts';
import { NO_SECRETS, type SecretMask } from '../tools/secret-mask.ts';
import { frontMatterOf } from './skill.ts';

export type SkillFile = {
  /** inside of the skill, with `/` */
  readonly path: string;
  /** `sha256:` and 64 hexadecimal digits */
  readonly digest: string;
  /** bytes */
  readonly size: number;
};
export type SkillWithFiles = {
  readonly name: string;
  readonly description: string;
  /** as its author wrote it, with secrets masked */
  readonly frontmatter: Readonly<Record<string, unknown>>;
  /** all of them, by path; SKILL.md is one */
  readonly files: readonly SkillFile[];
};

const SKILL = 'SKILL.md';
const FILES_MAX = 512;
const BYTES_MAX = 16_777_216;
const DEPTH_MAX = 16;
const SKILLS_MAX = 200;
const DESCRIPTION_CHARACTERS_MAX = 1_024;
const NAME = /^(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;

type Found = Omit<SkillWithFiles, 'files'> & { readonly folder: string };
type Hashed = { readonly signature: Peeked; readonly files: readonly SkillFile[] };

export class SkillFolder {
  readonly #folder: string;
  readonly #secrets: SecretMask;
  readonly #now: () => number;
  readonly #hashed = new LruMap<string, Hashed>(SKILLS_MAX);
  #known: { readonly peeked: Peeked; readonly found: ReadonlyMap<string, Found> } | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** @param now by a clock that is close to the file system's, epoch milliseconds */
  constructor(folder: string, now: () => number, secrets: SecretMask = NO_SECRETS) {
    this.#folder = folder;
    this.#secrets = secrets;
    this.#now = now;
  }

  /** The names of its skills, sorted. */
  async names(): Promise<readonly string[]> {
    return [...(await this.#find()).keys()].sort();
  }

  /** undefined: there is no such skill, or it is too large. */
  async skill(name: string): Promise<SkillWithFiles | undefined> {
    const found = (await this.#find()).get(name);
    if (!found) return undefined;
    const files = await this.#inTurn(() => this.#filesOf(found.folder));
    const { folder: _, ...skill } = found;
    return files && { ...skill, files };
  }

  /** The contents of a file that `skill` lists; undefined: it does not, or not any more. */
  async read(name: string, path: string): Promise<Uint8Array | undefined> {
    const skill = await this.skill(name);
    const folder = (await this.#find()).get(name)?.folder;
    if (folder === undefined || !skill?.files.some((file) => file.path === path)) return undefined;
    const root = join(this.#folder, folder);
    const { files } = await peekFolder(root, [path], undefined, this.#now);
    const bytes = files[0]?.bytes;
    return bytes && this.#masked(bytes);
  }

  /** By name. Of two with one name, the one whose folder has it too, then the first folder. */
  async #find(): Promise<ReadonlyMap<string, Found>> {
    const known = this.#known;
    const peeked = await peekFolder(this.#folder, [`*/${SKILL}`], known?.peeked, this.#now);
    if (known && peeked === known.peeked) return known.found;
    const found = new Map<string, Found>();
    for (const { path, bytes } of peeked.files) {
      const [folder = ''] = path.split('/');
      const skill = bytes && !folder.startsWith('.') && this.#skillIn(folder, bytes);
      if (skill && (!found.has(skill.name) || folder === skill.name)) found.set(skill.name, skill);
    }
    this.#known = { peeked, found };
    return found;
  }

  #skillIn(folder: string, bytes: Uint8Array): Found | undefined {
    try {
      // Masking the text could make other YAML of it: `***` is an alias.
      const read = frontMatterOf(utf8Text(bytes) ?? '');
      const frontmatter = this.#shown(read) as Readonly<Record<string, unknown>>;
      const { name, description } = frontmatter;
      if (typeof name !== 'string' || !NAME.test(name)) return undefined;
      if (typeof description !== 'string' || description.trim() === '') return undefined;
      if (description.length > DESCRIPTION_CHARACTERS_MAX) return undefined;
      return { folder, name, description, frontmatter };
    } catch {
      return undefined;
    }
  }

  async #filesOf(folder: string): Promise<readonly SkillFile[] | undefined> {
    const root = join(this.#folder, folder);
    const paths = (await pathsIn(root))?.filter((path) => !this.#isSecret(path));
    if (!paths?.includes(SKILL)) return undefined;
    const known = this.#hashed.get(folder);
    const peeked = await peekFolder(root, paths, known?.signature, this.#now);
    if (known && peeked === known.signature) return known.files;
    if (!peeked.files.some(({ path }) => path === SKILL)) return undefined;
    const files = peeked.files.map(({ path, bytes }) => bytes && this.#hash(path, bytes));
    // A file that became too large meanwhile, or cannot be read: the list would not be complete.
    if (files.includes(undefined)) return undefined;
    const all = files as readonly SkillFile[];
    this.#hashed.set(folder, { signature: { ...peeked, files: [] }, files: all });
    return all;
  }

  #hash(path: string, bytes: Uint8Array): SkillFile {
    const masked = this.#masked(bytes);
    const digest = createHash('sha256').update(masked).digest('hex');
    return { path, digest: `sha256:${digest}`, size: masked.length };
  }

  #masked(bytes: Uint8Array): Uint8Array {
    const text = utf8Text(bytes);
    if (text === undefined) return this.#maskedBytes(bytes);
    const masked = this.#text(text);
    return masked === text ? bytes : Buffer.from(masked);
  }

  /** A value of the front matter, with its keys. */
  #shown(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((one) => this.#shown(one));
    if (typeof value === 'object' && value !== null) {
      const entries = Object.entries(value);
      return Object.fromEntries(entries.map(([key, one]) => [this.#text(key), this.#shown(one)]));
    }
    const text = String(value);
    return this.#isSecret(text) ? this.#text(text) : value;
  }

  #text(text: string): string {
    return this.#secrets.text(text);
  }

  /** Finds the UTF-8 bytes of secrets. */
  #maskedBytes(bytes: Uint8Array): Uint8Array {
    const stream = this.#secrets.byteStream();
    return Buffer.concat([stream.add(Buffer.from(bytes)), stream.end()]);
  }

  #isSecret(name: string): boolean {
    return this.#text(name) !== name;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }
}

/**
 * The files of a skill, sorted, without what vanishes meanwhile; undefined: they are too many or
 * too large, or cannot be read.
 */
async function pathsIn(root: string): Promise<string[] | undefined> {
  const found: string[] = [];
  let bytes = 0;
  const walk = async (folder: string, depth: number): Promise<boolean> => {
    const entries = await unlessAbsent(readdir(join(root, folder), { withFileTypes: true }));
    if (!entries) return !isNotUtf8(folder);
    for (const entry of entries) {
      if (entry.name.startsWith('.')) continue;
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory() && (depth === DEPTH_MAX || !(await walk(path, depth + 1))))
        return false;
      if (!entry.isFile()) continue;
      const stat = await unlessAbsent(lstat(join(root, path)));
      if (!stat && isNotUtf8(path)) return false;
      if (!stat) continue;
      bytes += stat.size;
      if (found.push(path) > FILES_MAX || bytes > BYTES_MAX) return false;
    }
    return true;
  };
  try {
    return (await walk('', 1)) ? found.sort() : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return undefined;
    throw error;
  }
}

/** Of a path that does not exist: with bytes that are not UTF-8, it exists under another name. */
const isNotUtf8 = (path: string): boolean => path.includes('\uFFFD');

/** undefined: another process has removed it. */
const unlessAbsent = <T>(reading: Promise<T>): Promise<T | undefined> =>
  reading.catch((error: unknown) => {
    if (isAbsent(error)) return undefined;
    throw error;
  });
