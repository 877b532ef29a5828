/** A second build, of a small program in a folder of its own. */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { bundle } from '../../tools/build.mjs';
import { scratchFolder } from '../runtime/config/folder.ts';

const root = dirname(dirname(bundle));

async function smallProgram() {
  const folder = scratchFolder();
  const write = (path: string, text: string): void => {
    fs.mkdirSync(dirname(join(folder, path)), { recursive: true });
    fs.writeFileSync(join(folder, path), text);
  };
  for (const name of fs.readdirSync(join(root, 'tools')).filter((each) => each.endsWith('.mjs')))
    write(`tools/${name}`, fs.readFileSync(join(root, 'tools', name), 'utf8'));
  for (const name of ['package.json', 'package-lock.json', 'tsconfig.json']) write(name, '{}');
  fs.symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  write('cli/main.ts', "await import('./late.ts');");
  write('cli/late.ts', "console.log('first');");
  // A source that changes during a build makes it stale.
  const before = new Date(Date.now() - 60_000);
  for (const path of ['package-lock.json', 'tsconfig.json', 'cli/main.ts', 'cli/late.ts'])
    fs.utimesSync(join(folder, path), before, before);
  for (const name of fs.readdirSync(join(folder, 'tools')))
    fs.utimesSync(join(folder, 'tools', name), before, before);
  const url = pathToFileURL(join(folder, 'tools/build.mjs')).href;
  const { build, isStale } = (await import(/* @vite-ignore */ url)) as {
    readonly build: () => Promise<void>;
    readonly isStale: () => boolean;
  };
  const late = (): string[] =>
    fs.readdirSync(join(folder, 'dist')).filter((name) => /^late-\w+\.js$/.test(name));
  return { folder, write, build, isStale, late };
}

// Bug hunted: their day began when they were built, so a build two days later removed the code that
// a running program had not loaded yet.
test('chunks stay for a day after the build that replaces them', async () => {
  const { folder, write, build, late } = await smallProgram();
  await build();
  const first = late();
  const age = (hours: number): void => {
    const at = new Date(Date.now() - hours * 3_600_000);
    for (const name of late()) fs.utimesSync(join(folder, 'dist', name), at, at);
  };
  age(48);
  write('cli/late.ts', "console.log('second');");
  await build();
  expect(late()).toHaveLength(2);
  expect(late()).toEqual(expect.arrayContaining(first));
  age(25);
  await build();
  expect(late()).toHaveLength(1);
  expect(late()).not.toEqual(first);
});

// Bug hunted: a changed list of light-packages.mjs did not lead to a build.
test('each part of the build makes its result stale', async () => {
  const { build, isStale, folder } = await smallProgram();
  await build();
  expect(isStale()).toBe(false);
  const text = fs.readFileSync(join(folder, 'tools/build.mjs'), 'utf8');
  const parts = [...text.matchAll(/from '\.\/([\w-]+)\.mjs'/g)].map(([, name]) => name!);
  expect(parts).toContain('light-packages');
  for (const name of parts.filter((each) => each !== 'install')) {
    const path = join(folder, `tools/${name}.mjs`);
    const { mtime } = fs.statSync(path);
    fs.utimesSync(path, new Date(), new Date());
    expect([name, isStale()]).toEqual([name, true]);
    fs.utimesSync(path, mtime, mtime);
    expect([name, isStale()]).toEqual([name, false]);
  }
});

test('files that a killed build was writing are removed, and not those of a running one', async () => {
  const { folder, write, build } = await smallProgram();
  const { pid: dead } = spawnSync(process.execPath, ['--version']);
  const folders = ['dist', 'dist/web/chunks', 'dist/sdk'];
  for (const each of folders)
    for (const pid of [dead, process.pid]) write(`${each}/part.js.${pid}.partial`, '');
  await build();
  for (const each of folders) {
    const left = fs.readdirSync(join(folder, each)).filter((name) => name.endsWith('.partial'));
    expect({ each, left }).toEqual({ each, left: [`part.js.${process.pid}.partial`] });
  }
});
