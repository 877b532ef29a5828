/** Parts of notes in real files: what a search shows without reading whole files. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createSecretMask } from '../../../agent/tools/secret-mask.ts';
import { WorkspaceNotes } from '../../../agent/tools/memory/workspace-notes.ts';
import { MemoryIndex } from '../../../memory/index.ts';
import { randomOf } from '../../random.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';

const SECRET = 'a key of a provider';
let root: string;
let notes: WorkspaceNotes;
const put = (path: string, text: string | Buffer) => writeFileSync(join(root, path), text);
/** A file that was just written has none. */
const stampOf = (path: string) =>
  eventually(async () => {
    const stamp = (await notes.list()).find((file) => file.path === path)?.stamp;
    expect(stamp).toBeDefined();
    return stamp!;
  });
const partOf = async (path: string, from: number, bytes: number, stamp?: string) =>
  notes.readPart(path, { stamp: stamp ?? (await stampOf(path)), from, bytes });
/** After calls that took long, until the next list, no part is read. */
const expectPart = (path: string, from: number, bytes: number, text: string) =>
  eventually(async () => expect(await partOf(path, from, bytes)).toBe(text));

beforeEach(() => {
  root = scratchFolder();
  mkdirSync(join(root, 'memory'));
  notes = new WorkspaceNotes(root, createSecretMask([SECRET]));
});

// Bug: a note below nine folders was neither found nor named.
it('notes are found 32 folders deep, as those of a workspace in a cluster', async () => {
  const folder = ['memory', ...Array.from({ length: 31 }, () => 'd')].join('/');
  mkdirSync(join(root, folder), { recursive: true });
  put(`${folder}/a.md`, 'deep');
  expect((await notes.list()).map(({ path }) => path)).toEqual([`${folder}/a.md`]);
});

describe('a part of a note', () => {
  it('is its bytes, once the file is known to have no secret', async () => {
    put('memory/a.md', 'đường\nto the sea\n');
    expect(await partOf('memory/a.md', 10, 11)).toBeUndefined();
    await notes.read('memory/a.md');
    await expectPart('memory/a.md', 10, 11, 'to the sea\n');
    await expectPart('memory/a.md', 17, 100, 'sea\n');
    // within a character
    expect(await partOf('memory/a.md', 1, 4)).toBeUndefined();
  });

  it('is unknown of a file with a secret, which could begin before it', async () => {
    put('memory/a.md', `one\n${SECRET}\ntwo`);
    await stampOf('memory/a.md');
    expect(await notes.read('memory/a.md')).toBe('one\n***\ntwo');
    expect(await partOf('memory/a.md', 10, 9)).toBeUndefined();
  });

  it('is unknown after each change of the file, also of the same size and times', async () => {
    put('memory/a.md', 'cheese');
    const stamp = await stampOf('memory/a.md');
    await notes.read('memory/a.md');
    await expectPart('memory/a.md', 0, 6, 'cheese');
    put('memory/a.md', 'butter');
    const at = new Date('2026-01-01');
    utimesSync(join(root, 'memory/a.md'), at, at);
    expect(await partOf('memory/a.md', 0, 6, stamp)).toBeUndefined();
    rmSync(join(root, 'memory/a.md'));
    expect(await partOf('memory/a.md', 0, 6, stamp)).toBeUndefined();
  });

  it('is never read through a link, to the file or to a folder', async () => {
    put('memory/a.md', 'cheese');
    const stamp = await stampOf('memory/a.md');
    await notes.read('memory/a.md');
    symlinkSync(join(root, 'memory'), join(root, 'memory', 'other'));
    expect(await partOf('memory/other/a.md', 0, 6, stamp)).toBeUndefined();
    renameSync(join(root, 'memory/a.md'), join(root, 'b'));
    symlinkSync(join(root, 'b'), join(root, 'memory/a.md'));
    expect(await partOf('memory/a.md', 0, 6, stamp)).toBeUndefined();
  });

  it('opens nothing behind a link, as the first check says', async () => {
    const outside = scratchFolder();
    const pipe = join(outside, 'a.md');
    execFileSync('mkfifo', [pipe]);
    symlinkSync(outside, join(root, 'memory', 'other'));
    let isOpen = false;
    // a pipe lets its writer continue as soon as another process or thread opens it to read
    const writer = execFile('sh', ['-c', 'echo ready >&2; : > "$0"', pipe]);
    onTestFinished(() => void writer.kill());
    const ended = once(writer, 'exit').then(() => (isOpen = true));
    await once(writer.stderr!, 'data');
    for (let n = 0; n < 50; n++) {
      expect(await partOf('memory/other/a.md', 0, 6, 'any')).toBeUndefined();
      await sleep(2);
    }
    expect(isOpen).toBe(false);
    execFileSync('cat', [pipe]);
    await ended;
  });
});

const LINES = ['the cheese of the farm', 'đường đến biển', '# 数据库', '', 'bread 🙂 and cheese'];

it('of settled files a search reads no whole file, and finds the same', async () => {
  const next = randomOf(5);
  for (let n = 0; n < 20; n++) {
    const lines = Array.from({ length: 200 }, () => LINES[Math.floor(next() * LINES.length)]!);
    put(`memory/${n}.md`, lines.join(n % 2 === 0 ? '\n' : '\r\n'));
  }
  for (let n = 0; n < 20; n++) await stampOf(`memory/${n}.md`);
  const index = new MemoryIndex();
  const question = { query: 'cheese biển 数据库', maxResults: 20, minScore: 0 };
  await index.search(notes, question);
  const whole = { list: () => notes.list(), read: (path: string) => notes.read(path) };
  const parts = {
    list: () => notes.list(),
    read: () => Promise.reject(new Error('it reads a whole file')),
    readPart: notes.readPart.bind(notes),
  };
  const { hits } = await eventually(() => index.search(parts, question));
  expect(hits).toHaveLength(20);
  expect(hits).toEqual((await index.search(whole, question)).hits);
});
