import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ensureToken, loadConfig, tokenFile } from '../../../runtime/config/index.ts';
import { scratchFolder, write } from './folder.ts';

const loadAt = (home: string, env = {}) => loadConfig({ home, env }).config;

it('makes a random token once, readable by its owner only, and finds it again', () => {
  const home = scratchFolder();
  const first = ensureToken(loadAt(home));
  const token = first.gateway.auth.token?.reveal() ?? '';
  expect(token).toMatch(/^[\w-]{43}$/);
  expect(readFileSync(tokenFile(first.home), 'utf8').trim()).toBe(token);
  expect(statSync(tokenFile(first.home)).mode & 0o777).toBe(0o600);
  expect(readdirSync(first.home)).toEqual(['token']);
  const again = loadConfig({ home, env: {} });
  expect(again.config.gateway.auth.token?.reveal()).toBe(token);
  expect(again.sources['gateway.auth.token']).toBe(`file ${tokenFile(first.home)}`);
  expect(ensureToken(again.config)).toBe(again.config);
});

it('uses the token that another process created in the meantime', () => {
  const home = scratchFolder();
  const [mine, theirs] = [loadAt(home), loadAt(home)];
  const first = ensureToken(theirs).gateway.auth.token?.reveal();
  expect(ensureToken(mine).gateway.auth.token?.reveal()).toBe(first);
});

it('creates none when one is configured, or when the mode needs none', () => {
  const home = scratchFolder();
  const given = ensureToken(loadAt(home, { TROUPE_TOKEN: 'given' }));
  expect(given.gateway.auth.token?.reveal()).toBe('given');
  write(home, '.troupe/troupe.json5', "{ gateway: { auth: { mode: 'none' } } }");
  const open = ensureToken(loadAt(home));
  expect(open.gateway.auth.token).toBeUndefined();
  expect(existsSync(tokenFile(open.home))).toBe(false);
});

it('names a folder that it cannot write to', () => {
  const home = scratchFolder();
  const file = write(home, 'in-the-way', '');
  expect(() => ensureToken(loadAt(home, { TROUPE_HOME: join(file, 'data') }))).toThrow(
    `the folder ${file} cannot be used: it is a file`,
  );
});

it.skipIf(process.getuid?.() === 0)(
  'reports a read-only folder (skipped as root, which may write)',
  () => {
    const home = scratchFolder();
    const data = join(home, 'data');
    mkdirSync(data);
    chmodSync(data, 0o500);
    expect(() => ensureToken(loadAt(home, { TROUPE_HOME: data }))).toThrow(/cannot write a token/);
  },
);
