/** The tools of memory on real files. */
import { mkdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { logNotes } from '../../../agent/context/daily-log.ts';
import { createMemoryTools } from '../../../agent/tools/memory/memory-tools.ts';
import { createToolRegistry, type ToolRegistry } from '../../../agent/tools/registry.ts';
import { createSecretMask } from '../../../agent/tools/secret-mask.ts';
import type { ToolContext } from '../../../agent/tools/tool.ts';
import type { Address } from '../../../protocols/address.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { toolContext } from './tool-context.ts';

let workspace: string;
let tools: ToolRegistry;
const put = (path: string, text: string | Buffer) => {
  mkdirSync(dirname(join(workspace, path)), { recursive: true });
  writeFileSync(join(workspace, path), text);
};
const call = async (name: string, args: object, over: Partial<ToolContext> = {}) => {
  const result = await tools.run(
    { name, args },
    toolContext({ workspace: () => Promise.resolve({ path: workspace }), ...over }),
  );
  return result.isError ? { error: result.text } : JSON.parse(result.text);
};
const search = (query: string, over?: Partial<ToolContext>, more: object = {}) =>
  call('memory_search', { query, ...more }, over);
const GROUP = { sessionKey: 'agent:main:telegram:group:1' };

beforeEach(() => {
  workspace = scratchFolder();
  tools = createToolRegistry(createMemoryTools({ maxResults: 6, minScore: 0.1 }));
});

describe('memory_search', () => {
  it('finds a note with its lines and a citation, as OpenClaw shapes it', async () => {
    put('memory/2026-03-01.md', '# 2026-03-01\n\n## Home\n\nThe cat is called Mochi.\n');
    expect(await search('what is the name of the cat')).toEqual({
      results: [
        {
          path: 'memory/2026-03-01.md',
          startLine: 1,
          endLine: 5,
          score: expect.any(Number),
          textScore: expect.any(Number),
          snippet:
            '# 2026-03-01\n\n## Home\n\nThe cat is called Mochi.\n\nSource: memory/2026-03-01.md#L1-L5',
          source: 'memory',
          citation: 'memory/2026-03-01.md#L1-L5',
          corpus: 'memory',
        },
      ],
      provider: 'none',
      model: 'none',
      mode: 'text',
      citations: 'on',
    });
  });

  it('knows every change at once: of the agent, of an editor, of the flush before compaction', async () => {
    const found = async (query: string) =>
      ((await search(query)) as { results: { path: string }[] }).results.map(({ path }) => path);
    expect(await found('cheese')).toEqual([]);
    put('memory/a.md', 'cheese');
    expect(await found('cheese')).toEqual(['memory/a.md']);
    // the same size and times
    const at = new Date('2026-01-01');
    utimesSync(join(workspace, 'memory/a.md'), at, at);
    expect(await found('cheese')).toEqual(['memory/a.md']);
    put('memory/a.md', 'butter');
    utimesSync(join(workspace, 'memory/a.md'), at, at);
    expect(await found('cheese')).toEqual([]);
    expect(await found('butter')).toEqual(['memory/a.md']);
    rmSync(join(workspace, 'memory/a.md'));
    expect(await found('butter')).toEqual([]);
    const notes = { id: 'e1', sessionKey: 'agent:main:main', text: 'We bought honey.', at: 0 };
    expect(await logNotes(workspace, notes)).toBe(true);
    expect(await found('honey')).toEqual(['memory/1970-01-01.md']);
    put('memory/deep/er/b.md', 'deep honey');
    expect(await found('honey')).toHaveLength(2);
  });

  it('shows MEMORY.md in the main session only, and does not count it elsewhere', async () => {
    put('MEMORY.md', 'The alarm code is in the safe.');
    put('memory/a.md', 'The alarm was tested.');
    const paths = async (over?: Partial<ToolContext>) =>
      (await search('alarm code', over, { maxResults: 1, minScore: 0 })).results.map(
        ({ path }: { path: string }) => path,
      );
    expect(await paths()).toEqual(['MEMORY.md']);
    expect(await paths(GROUP)).toEqual(['memory/a.md']);
    expect(await call('memory_get', { path: 'MEMORY.md' }, GROUP)).toEqual({
      path: 'MEMORY.md',
      text: '',
    });
    for (const path of ['memory/../MEMORY.md', './MEMORY.md', 'memory/./../MEMORY.md'])
      expect(await call('memory_get', { path }, GROUP)).toMatchObject({ text: '' });
  });

  it('follows no links, reads no other files, and names what it cannot read', async () => {
    const outside = join(scratchFolder(), 'secret.md');
    writeFileSync(outside, 'secret cheese');
    put('MEMORY.md', 'main cheese');
    put('notes.md', 'other cheese');
    put('memory/a.txt', 'text cheese');
    put('memory/broken.md', Buffer.from([0xff, 0xfe, 0x63]));
    symlinkSync(outside, join(workspace, 'memory/link.md'));
    symlinkSync('../MEMORY.md', join(workspace, 'memory/main.md'));
    symlinkSync('..', join(workspace, 'memory/up'));
    expect(await search('cheese', GROUP)).toMatchObject({
      results: [],
      notSearched: [{ path: 'memory/broken.md', why: expect.stringContaining('UTF-8') }],
    });
    for (const path of ['memory/link.md', 'memory/main.md', 'memory/up/MEMORY.md'])
      expect(await call('memory_get', { path }, GROUP)).toMatchObject({ text: '' });
    for (const path of ['notes.md', '/etc/passwd', '../x.md', 'memory/a.txt', 'memory'])
      expect(await call('memory_get', { path })).toMatchObject({
        error: expect.stringContaining('is not a note'),
      });
  });

  it('a folder that is a link has no notes', async () => {
    const outside = scratchFolder();
    writeFileSync(join(outside, 'a.md'), 'cheese');
    symlinkSync(outside, join(workspace, 'memory'));
    expect(await search('cheese')).toMatchObject({ results: [] });
    expect(await call('memory_get', { path: 'memory/a.md' })).toMatchObject({ text: '' });
  });

  it('a subagent in the workspace of its parent, and a session without access, have no memory', async () => {
    put('memory/a.md', 'cheese');
    const subagent = { sessionKey: 'agent:main:subagent:7' };
    const own = { ...subagent, workspaceOf: 'default/subagent/7' as Address };
    expect((await search('cheese', own)).results).toHaveLength(1);
    expect(await search('cheese', subagent)).toMatchObject({
      error: expect.stringContaining('no memory of its own'),
    });
    const confinement = { sandboxed: true, workspaceAccess: 'none' } as const;
    expect(await search('cheese', { confinement })).toMatchObject({
      error: expect.stringContaining('no access'),
    });
  });

  it('is complete JSON also for the largest results, of characters that take most bytes', async () => {
    for (let n = 0; n < 40; n++) {
      put(`memory/${n}.md`, `cheese ${'\u0001数'.repeat(400)}`);
      put(`memory/broken${n}.md`, Buffer.from([0xff]));
    }
    const answer = await search('cheese', {}, { maxResults: 20, minScore: 0 });
    expect(answer.results).toHaveLength(20);
    expect(answer).toMatchObject({ notSearched: { length: 10 }, notSearchedMore: 30 });
    put('memory/long.md', '\u0001数'.repeat(400_000 / 4));
    expect((await call('memory_get', { path: 'memory/long.md' })).text).toHaveLength(16_384);
  });

  it('leaves out scores below the minimum', async () => {
    put('memory/a.md', 'cheese and many other words that have no part in it');
    put('memory/b.md', 'bread');
    const query = 'cheese from the south of france in summer';
    expect((await search(query, {}, { minScore: 0 })).results).toHaveLength(1);
    expect((await search(query, {}, { minScore: 0.9 })).results).toEqual([]);
  });
});

describe('memory_get', () => {
  it('reads all or some lines, and says where to continue', async () => {
    put('memory/a.md', ['one', 'two', 'three', 'four'].join('\n'));
    const path = 'memory/a.md';
    expect(await call('memory_get', { path })).toEqual({
      path,
      text: 'one\ntwo\nthree\nfour',
      from: 1,
      lines: 4,
    });
    expect(await call('memory_get', { path, from: 2, lines: 2 })).toEqual({
      path,
      text: 'two\nthree',
      from: 2,
      lines: 2,
      nextFrom: 4,
    });
    expect(await call('memory_get', { path, from: 9 })).toMatchObject({ text: '', lines: 0 });
    expect(await call('memory_get', { path: 'memory/none.md' })).toEqual({
      path: 'memory/none.md',
      text: '',
    });
  });

  it('cuts long texts at lines', async () => {
    put('memory/a.md', Array.from({ length: 5_000 }, (_, n) => `line ${n}`).join('\n'));
    const first = await call('memory_get', { path: 'memory/a.md' });
    expect(first).toMatchObject({ truncated: true, nextFrom: first.lines + 1 });
    const next = await call('memory_get', { path: 'memory/a.md', from: first.nextFrom });
    expect(next.text.startsWith(`line ${first.lines}\n`)).toBe(true);
  });
});

it('masks secrets before a text is cut, so that no part of one is left', async () => {
  const value = 'sk-live-SECRETSECRETSECRET4471';
  const key =
    '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\n-----END PRIVATE KEY-----';
  put('memory/a.md', `${'x '.repeat(150)}${value} ${'p '.repeat(91)}needle ${'y '.repeat(500)}`);
  put('memory/c.md', `${'q'.repeat(16_370)} ${value}`);
  put('memory/lines.md', `one\n${key}\nfive`);
  const secrets = createSecretMask([value, key]);
  const found = JSON.stringify(await search('needle', { secrets }));
  expect(found).toContain('needle');
  expect(found).not.toMatch(/SECRET|4471/);
  const read = await call('memory_get', { path: 'memory/c.md' }, { secrets });
  expect(read.text).not.toContain('sk-live');
  const lines = await call('memory_get', { path: 'memory/lines.md' }, { secrets });
  expect(lines.text).toBe('one\n-----BEGIN PRIVATE KEY-----\n***\n-----END PRIVATE KEY-----\nfive');
});

it('masks a secret that is written into a note that was read without one', async () => {
  const value = 'sk-live-SECRETSECRETSECRET4471';
  const secrets = createSecretMask([value]);
  put('memory/a.md', 'The key is unknown.');
  const read = async () => (await call('memory_get', { path: 'memory/a.md' }, { secrets })).text;
  const old = new Date('2026-01-01');
  utimesSync(join(workspace, 'memory/a.md'), old, old);
  await eventually(() =>
    expect(Date.now() - statSync(join(workspace, 'memory/a.md')).ctimeMs).toBeGreaterThan(60),
  );
  for (let time = 0; time < 2; time++) expect(await read()).toBe('The key is unknown.');
  const cut = `${'x '.repeat(150)}${value} ${'p '.repeat(91)}needle ${'y '.repeat(500)}`;
  put('memory/a.md', cut);
  utimesSync(join(workspace, 'memory/a.md'), old, old);
  expect(JSON.stringify(await search('needle', { secrets }))).not.toMatch(/SECRET|4471/);
});
