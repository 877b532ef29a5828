/** Stored manifests: as workers of an older version read them, and as those workers write them. */
import { expect, it } from 'vitest';
import { decode, encode } from '../../../protocols/codec.ts';
import {
  decodeManifest,
  encodeManifest,
  type Manifest,
  type SavedEntry,
} from '../../../runtime/workspaces/manifest.ts';

const about = { cell: 'cell', actor: 't/agent/a', version: 1 };
const folder = (path: string): SavedEntry => ({ kind: 'folder', path });
const link = (path: string, target: string): SavedEntry => ({ kind: 'link', path, target });
const file = (path: string): SavedEntry => ({
  kind: 'file',
  path,
  mode: 0o644,
  bytes: 0,
  chunks: [],
});

const entries = [
  folder('v'),
  folder('v/bin'),
  link('v/bin/python', 'python3'),
  link('v/bin/python3', '/usr/bin/python3'),
  link('own', '/workspace/v'),
];
const stored = encodeManifest({ ...about, opener: 'o', parent: '', entries });
const pathsOf = (bytes: Uint8Array): string[] =>
  decodeManifest(bytes, about).entries.map(({ path }) => path);

it('an older worker finds no entry that it refuses', () => {
  const read = decode<Manifest>(stored);
  expect(read.entries.map(({ path }) => path)).toEqual(['v', 'v/bin', 'v/bin/python']);
});

it('links to paths of the sandbox are read, and have no other field', () => {
  const manifest = decodeManifest(stored, about);
  expect(manifest.entries).toHaveLength(5);
  expect(manifest.entries).toEqual(expect.arrayContaining(entries));
  expect(manifest).not.toHaveProperty('sandboxLinks');
});

it('bug: a link that an older worker copied replaced the file that it had saved', () => {
  const older = (changed: readonly SavedEntry[]) =>
    encode({ ...decode<Manifest>(stored), entries: changed });
  expect(pathsOf(older([file('own')]))).toEqual(['own']);
  expect(pathsOf(older([file('v')]))).toEqual(['v', 'own']);
  expect(pathsOf(older([folder('v'), folder('v/bin'), folder('v/bin/python3')]))).toEqual([
    'v',
    'v/bin',
    'v/bin/python3',
    'own',
  ]);
});

it.each([
  ['above the folder', '../out', '/usr/bin/x'],
  ['by ..', 'v/../out', '/usr/bin/x'],
  ['to a file of the host', 'out', '/etc/passwd'],
  ['to a file of the host by climbing', 'out', '/usr/../etc/passwd'],
  ['that is relative and escapes', 'out', '../../etc/passwd'],
])('a damaged list of links creates no link %s', (_, path, target) => {
  const sandboxLinks = [link(path, target)];
  const damaged = encode({ ...decode<Manifest>(stored), entries: [folder('v')], sandboxLinks });
  expect(pathsOf(damaged)).toEqual(['v']);
});

it('an absolute link among the entries is damage, as before', () => {
  const damaged = encode({ ...about, opener: 'o', parent: '', entries: [link('a', '/usr/bin/x')] });
  expect(() => decodeManifest(damaged, about)).toThrow('leads out');
});
