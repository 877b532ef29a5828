/**
 * Notes in real files that change in every way between searches. What an index of long standing
 * answers must be what a new index answers, in the same order, and be in the files now. It reads
 * only the lines of its hits, so it could show lines that were moved or replaced.
 *
 * `TROUPE_MEMORY_EDITS=10000` makes so many edits; `TROUPE_MEMORY_SEED` repeats a run.
 */
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { appendFileSync, copyFileSync, existsSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createSecretMask } from '../../agent/tools/secret-mask.ts';
import { WorkspaceNotes } from '../../agent/tools/memory/workspace-notes.ts';
import { linesOf, MemoryIndex, type NoteFile, type Question } from '../../memory/index.ts';
import { randomOf } from '../random.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { testModel, testStore } from './vectors/model.ts';

const EDITS = Number(process.env['TROUPE_MEMORY_EDITS'] ?? 200);
const SEED = Number(process.env['TROUPE_MEMORY_SEED'] ?? 1);
const FILES = 30;
/** Longer than the files of one edit stay unsettled. */
const SETTLED_MS = 60;
const SECRETS = createSecretMask(['a key of a provider']);

class CountedNotes extends WorkspaceNotes {
  parts = 0;
  /** called once, when the files are compared and nothing is read */
  onListed: (() => void) | undefined;

  override async list(): Promise<readonly NoteFile[]> {
    const listed = await super.list();
    this.onListed?.();
    this.onListed = undefined;
    return listed;
  }

  override async readPart(...of: Parameters<WorkspaceNotes['readPart']>) {
    const part = await super.readPart(...of);
    if (part !== undefined) this.parts += 1;
    return part;
  }
}

/** A workspace, and what people, agents and other sessions do to its notes. */
class Edited {
  root: string;
  readonly #below: (end: number) => number;

  constructor(root: string, random: () => number) {
    this.root = root;
    this.#below = (end) => Math.floor(random() * end);
    mkdirSync(join(root, 'memory', 'old'), { recursive: true });
  }

  word(): string {
    const [c, v, d] = ['bcdfgklmnprst', 'aeiou', 'lmnrst'];
    const letter = (of: string) => of[this.#below(of.length)]!;
    const word = `${letter(c)}${letter(v)}${letter(d)}${letter(v)}`;
    return (
      ['đ' + word, '数据' + '库茶狗猫'[this.#below(4)], `${word}_${word}`][this.#below(12)] ?? word
    );
  }

  question(): Question {
    const words = Array.from({ length: 1 + this.#below(6) }, () => this.word());
    return { query: words.join(' '), maxResults: 1 + this.#below(10), minScore: 0 };
  }

  /** One edit, of a file that may not exist. */
  change(): void {
    const path = this.#path();
    const [place, other] = [join(this.root, path), join(this.root, this.#path())];
    const lines = existsSync(place) ? readFileSync(place, 'utf8').split('\n') : [];
    const at = this.#below(lines.length);
    const write = (all: readonly string[]) => writeFileSync(place, all.join('\n'));
    const changes = [
      () => appendFileSync(place, `\n${this.#lines()}`),
      () => write([...lines.slice(0, at), this.#lines(), ...lines.slice(at)]),
      () => write([...lines.slice(0, at), ...lines.slice(at + 1 + this.#below(9))]),
      // as long as before
      () => write(lines.with(at, lines[at]!.replaceAll(/[bcd]/g, 'k'))),
      () => write(lines.map((line) => line.replaceAll(/[aei]/g, 'o'))),
      () => this.#writeBack(place, lines.toReversed()),
      () => write([lines.join(' ')]),
      () => write(lines.map((line) => line.replace(/\r?$/, '\r'))),
      () => writeFileSync(place, ''),
      () => rmSync(place),
      () => place !== other && renameSync(place, other),
      () => copyFileSync(place, other),
      () => this.#replace(place),
    ];
    if (lines.length === 0) return writeFileSync(place, this.#note());
    changes[this.#below(changes.length)]!();
  }

  /** The workspace of an agent that is opened elsewhere: other inodes and times. */
  move(): void {
    const root = join(dirname(this.root), `moved-${this.#below(1e9)}`);
    cpSync(this.root, root, { recursive: true });
    rmSync(this.root, { recursive: true });
    this.root = root;
  }

  /** By an editor that keeps the time of the last change. */
  #writeBack(place: string, lines: readonly string[]): void {
    writeFileSync(place, lines.join('\n'));
    utimesSync(place, 1_700_000_000, 1_700_000_000);
  }

  /** By an editor that writes another file, and gives it the name. */
  #replace(place: string): void {
    writeFileSync(`${place}.new`, this.#note());
    renameSync(`${place}.new`, place);
  }

  #path(): string {
    const n = this.#below(FILES);
    return n === 0 ? 'MEMORY.md' : `memory/${n % 4 === 0 ? 'old/' : ''}${n}.md`;
  }

  #lines(): string {
    const line = () => Array.from({ length: 1 + this.#below(14) }, () => this.word()).join(' ');
    const all = Array.from({ length: 1 + this.#below(12) }, line);
    if (this.#below(4) === 0) all.unshift(`# ${this.word()}`);
    if (this.#below(12) === 0) all.push('here is a key of a provider, and more');
    return all.join('\n');
  }

  #note(): string {
    return Array.from({ length: 1 + this.#below(8) }, () => this.#lines()).join('\n');
  }
}

/** @throws when an answer differs. @returns how many parts of files were read */
async function searched(edits: number, seed: number, Notes = CountedNotes): Promise<number> {
  const random = randomOf(seed);
  const edited = new Edited(scratchFolder(), random);
  const options = { embedder: testModel(), segments: testStore() };
  const indexes = [{ of: {} }, { of: options }].map(({ of }) => ({
    of,
    index: new MemoryIndex(of),
  }));
  let parts = 0;
  for (let edit = 0; edit < edits; ) {
    const many = random() < 0.1 ? 20 : 1 + Math.floor(random() * 3);
    for (let n = 0; n < many; n++, edit++) edited.change();
    if (random() < 0.01) edited.move();
    if (random() < 0.05) await sleep(SETTLED_MS);
    const question = edited.question();
    const asked = indexes[random() < 0.5 ? 0 : 1]!;
    // as after a kill: of the index only the stored vectors are left
    if (random() < 0.01) asked.index = new MemoryIndex(asked.of);
    const { of, index } = asked;
    const notes = new Notes(edited.root, SECRETS);
    const isMeanwhile = random() < 0.3;
    const changeSome = () => {
      for (let n = 0; n < FILES / 2; n++, edit++) edited.change();
    };
    if (isMeanwhile) notes.onListed = changeSome;
    const old = await index.search(notes, question);
    parts += notes.parts;
    const where = `seed ${seed}, edit ${edit}, ${JSON.stringify(question)}`;
    if (!isMeanwhile) {
      const now = new WorkspaceNotes(edited.root, SECRETS);
      const { mode, chunks, hits } = await new MemoryIndex(of).search(now, question);
      const { left } = old;
      const answered = { where, left, mode: old.mode, chunks: old.chunks, hits: old.hits };
      expect(answered).toEqual({ where, left: [], mode, chunks, hits });
    }
    for (const { path, startLine, endLine, excerpt } of old.hits) {
      const now = SECRETS.text(readFileSync(join(edited.root, path), 'utf8'));
      const shown = linesOf(now).slice(startLine - 1, endLine);
      expect({ where, shown: shown.join('\n') }).toMatchObject({
        shown: expect.stringContaining(excerpt),
      });
    }
  }
  return parts;
}

test(`an index of long standing answers as a new one, after ${EDITS} edits`, {
  timeout: 60_000 + EDITS * 100,
}, async () => {
  expect(await searched(EDITS, SEED)).toBeGreaterThan(EDITS / 10);
});

test('the comparison notices an index that misses edits without a change of the size', async () => {
  class Careless extends CountedNotes {
    override async list(): Promise<readonly NoteFile[]> {
      return (await super.list()).map((file) => ({ ...file, stamp: String(file.bytes) }));
    }
  }
  await expect(searched(2_000, SEED, Careless)).rejects.toThrow(/deeply equal/);
});
