import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { logNotes } from '../../../agent/context/daily-log.ts';
import { nearest, replaceIn } from '../../../agent/tools/files/replacements.ts';
import { createSecretMask } from '../../../agent/tools/secret-mask.ts';
import { hostToolsBench } from './host-tools-fixture.ts';

const bench = hostToolsBench();
const put = (name: string, content: string | Buffer) =>
  writeFileSync(join(bench.workspace, name), content);
const got = (name: string) => readFileSync(join(bench.workspace, name), 'utf8');

describe('read', () => {
  it('shows lines with their numbers, from an offset, and states what is omitted', async () => {
    put('a.txt', Array.from({ length: 10 }, (_, index) => `line ${index + 1}`).join('\n'));
    const { text } = await bench.call('read', { path: 'a.txt', offset: 3, limit: 2 });
    expect(text).toBe(
      '    3  line 3\n    4  line 4\n[lines 5 to 10 are left out: read with offset 5]',
    );
    const past = await bench.call('read', { path: 'a.txt', offset: 11 });
    expect(past.text).toBe('[the file has 10 lines]');
    put('empty', '');
    expect((await bench.call('read', { path: 'empty' })).text).toBe('[the file is empty]');
  });

  it('cuts long lines and long results, and a later call returns the rest', async () => {
    put('long.txt', `${'x'.repeat(5_000)}\n`.repeat(100));
    const { text } = await bench.call('read', { path: 'long.txt' });
    expect(text.length).toBeLessThan(64 * 1024);
    expect(text).toContain('[cut: the line has 5000 characters]');
    const next = Number(/read with offset (\d+)/.exec(text)?.[1]);
    const rest = await bench.call('read', { path: 'long.txt', offset: next });
    expect(rest.text.trimStart().startsWith(String(next))).toBe(true);
  });

  it('returns an image by its content, and refuses one that is too large', async () => {
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    put('photo.txt', png);
    const seen = await bench.call('read', { path: 'photo.txt' });
    expect(seen.images).toEqual([{ mimeType: 'image/png', data: png.toString('base64') }]);
    put('huge.png', Buffer.concat([png, Buffer.alloc(1_048_576)]));
    const huge = await bench.call('read', { path: 'huge.png' });
    expect(huge).toMatchObject({ isError: true });
    expect(huge.images).toBeUndefined();
  });

  it('lists the names in a folder, and refuses binary files, with their size', async () => {
    mkdirSync(join(bench.workspace, 'folder'));
    put('folder/b', '');
    put('binary', Buffer.from([1, 2, 0, 3]));
    expect((await bench.call('read', { path: '/workspace' })).text).toBe(
      'The workspace is a folder of 2:\nbinary\nfolder/',
    );
    expect(await bench.call('read', { path: 'binary' })).toEqual({
      text: 'binary is a binary file of 4 bytes; read accepts text and images.',
      isError: true,
    });
    const missing = await bench.call('read', { path: 'missing' });
    expect(missing).toEqual({ text: 'There is no file missing.', isError: true });
  });
});

describe('write', () => {
  it('replaces a whole file, creates its folders, keeps its mode, and is repeatable', async () => {
    put('run.sh', 'old, and longer');
    chmodSync(join(bench.workspace, 'run.sh'), 0o755);
    for (const path of ['run.sh', 'run.sh', '/workspace/deep/er/new.txt']) {
      expect((await bench.call('write', { path, content: 'new ü' })).isError).toBeUndefined();
    }
    expect(got('run.sh')).toBe('new ü');
    expect(statSync(join(bench.workspace, 'run.sh')).mode & 0o777).toBe(0o755);
    expect(got('deep/er/new.txt')).toBe('new ü');
    expect(readdirSync(bench.workspace).sort()).toEqual(['deep', 'run.sh']);
  });

  it('loses no note of a day: another session may have written it', async () => {
    const path = 'memory/2026-11-30.md';
    const write = (content: string, as = path) => bench.call('write', { path: as, content });
    const first = '# 2026-11-30\n\n- Đà Nẵng\n';
    expect((await write(first)).isError).toBeUndefined();
    symlinkSync('2026-11-30.md', join(bench.workspace, 'memory/today.md'));
    for (const as of [path, '/workspace/memory/../memory/2026-11-30.md', 'memory/today.md']) {
      const lost = await write('# 2026-11-30\n\n- only this\n', as);
      expect(lost).toMatchObject({ isError: true });
      expect(lost.text).toContain('append only');
    }
    expect(got(path)).toBe(first);
    const both = `${first.trimEnd()}\n- 重庆\n`;
    for (const content of [both, both]) expect((await write(content)).isError).toBeUndefined();
    expect(got(path)).toBe(both);
    const edits = [{ oldText: '- Đà Nẵng', newText: '- Huế' }];
    expect((await bench.call('edit', { path, edits })).isError).toBeUndefined();
    expect((await write('anything', 'memory/plans.md')).isError).toBeUndefined();
    expect((await write('else', 'memory/plans.md')).isError).toBeUndefined();
  });

  it('bug: notes of a day that a person had edited could not be written any more', async () => {
    mkdirSync(join(bench.workspace, 'memory'));
    const path = 'memory/2026-11-30.md';
    put(path, '\uFEFF# 2026-11-30\r\n\r\n- one  \r\n- two\r\n');
    const write = (content: string) => bench.call('write', { path, content });
    expect(await write('# 2026-11-30\n\n- one\n- three\n')).toMatchObject({ isError: true });
    const whole = '# 2026-11-30\n\n- one\n- two\n- three\n';
    for (const content of [whole, whole]) expect((await write(content)).isError).toBeUndefined();
    expect(got(path)).toBe(whole);
  });

  it('refuses a folder, and a file in place of a folder', async () => {
    mkdirSync(join(bench.workspace, 'folder'));
    put('file', '');
    for (const path of ['folder', '.', 'file/below']) {
      expect(await bench.call('write', { path, content: 'x' })).toMatchObject({ isError: true });
    }
  });

  it('respects the session’s access on the host, too', async () => {
    put('a', 'kept');
    const ro = { confinement: { sandboxed: false, workspaceAccess: 'ro' as const } };
    const none = { confinement: { sandboxed: false, workspaceAccess: 'none' as const } };
    const edits = [{ oldText: 'kept', newText: 'lost' }];
    for (const confinement of [ro, none]) {
      const written = await bench.call('write', { path: 'a', content: 'lost' }, confinement);
      const edited = await bench.call('edit', { path: 'a', edits }, confinement);
      expect([written.isError, edited.isError]).toEqual([true, true]);
    }
    expect((await bench.call('read', { path: 'a' }, ro)).text).toContain('kept');
    expect((await bench.call('read', { path: 'a' }, none)).isError).toBe(true);
    expect(got('a')).toBe('kept');
  });
});

describe('edit', () => {
  it('replaces exact texts, several at once, all or none', async () => {
    put('a.ts', 'const one = 1;\nconst two = 2;\n');
    const edits = [
      { oldText: 'one = 1', newText: 'one = "$&$1"' },
      { oldText: 'two = 2', newText: '' },
    ];
    expect((await bench.call('edit', { path: 'a.ts', edits })).text).toBe(
      'Edited a.ts: 2 replaced.',
    );
    expect(got('a.ts')).toBe('const one = "$&$1";\nconst ;\n');
    const wrong = [
      { oldText: 'const ;', newText: 'changed' },
      { oldText: 'not there', newText: 'x' },
    ];
    expect((await bench.call('edit', { path: 'a.ts', edits: wrong })).isError).toBe(true);
    expect(got('a.ts')).toBe('const one = "$&$1";\nconst ;\n');
  });

  it('reports a text that occurs more than once, and replaces all on request', async () => {
    put('a', 'x\ny\nx\n');
    const edits = [{ oldText: 'x', newText: 'z' }];
    const twice = await bench.call('edit', { path: 'a', edits });
    expect(twice.text).toContain('there 2 times (lines 1, 3)');
    await bench.call('edit', { path: 'a', edits: [{ ...edits[0], all: true }] });
    expect(got('a')).toBe('z\ny\nz\n');
  });

  it('reports a file of one repeated text without counting all occurrences', async () => {
    put('a', 'x\n'.repeat(2_000_000));
    const edits = [{ oldText: 'x', newText: 'z' }];
    const { text } = await bench.call('edit', { path: 'a', edits });
    expect(text).toContain('there more than 100000 times (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)');
  });

  it('makes no file larger than it accepts, and does not replace millions of occurrences', () => {
    const many = [{ oldText: 'a', newText: 'b', all: true }];
    expect(replaceIn('a'.repeat(100_001), many)).toMatchObject({ kind: 'refused' });
    expect(replaceIn('a'.repeat(100_000), many)).toMatchObject({ kind: 'changed' });
    const large = [{ oldText: 'a', newText: 'x'.repeat(1_000_000), all: true }];
    expect(replaceIn('a'.repeat(100), large)).toMatchObject({
      kind: 'refused',
      why: expect.stringContaining('too large for edit'),
    });
  });

  it('shows the most similar lines for a missing text', async () => {
    put('a.ts', 'function add(a: number) {\n  return a + 1;\n}\n');
    const edits = [{ oldText: 'function add(a) {\n  return a+1\n}', newText: 'x' }];
    const { text, isError } = await bench.call('edit', { path: 'a.ts', edits });
    expect(isError).toBe(true);
    expect(text).toContain('The most similar text begins at line 1:\nfunction add(a: number) {');
    expect(nearest('nothing\nlike', 'wholly(different)')).toContain('read the file again');
    // a value that the cut would have left half of
    const secrets = createSecretMask(['value-of-a-skill']);
    const line = `key ${'k '.repeat(394)}value-of-a-skill`;
    expect(nearest(line, `${line}.`, secrets)).toMatch(/k \*\*\*$/);
  });

  it('recognizes its own result when it is repeated, and changes nothing', async () => {
    put('a', 'one two');
    const edits = [{ oldText: 'two', newText: 'two three' }];
    await bench.call('edit', { path: 'a', edits });
    const again = await bench.call('edit', { path: 'a', edits });
    expect(again).toEqual({ text: 'a already has this text; nothing was changed.' });
    expect(got('a')).toBe('one two three');
    expect(replaceIn('ab', [{ oldText: 'a', newText: 'ab' }])).toEqual({ kind: 'done' });
    expect(replaceIn('a', [{ oldText: 'a', newText: 'a' }])).toEqual({ kind: 'done' });
  });

  it('refuses a file that is not UTF-8, whose other bytes it would change', async () => {
    const bytes = Buffer.from([0x61, 0xff, 0x62]);
    put('latin', bytes);
    const edits = [{ oldText: 'a', newText: 'c' }];
    expect((await bench.call('edit', { path: 'latin', edits })).text).toContain('not UTF-8');
    put('bom', '\uFEFFa');
    await bench.call('edit', { path: 'bom', edits });
    expect(got('bom')).toBe('\uFEFFc');
  });
});

describe('paths that lead out of the workspace', () => {
  const attempts = (): Record<string, string> => {
    const secret = join(bench.outside, 'secret');
    writeFileSync(secret, 'of the host');
    const link = (name: string, to: string) => symlinkSync(to, join(bench.workspace, name));
    link('link', secret);
    link('folder', bench.outside);
    link('relative', '../secret');
    link('chain', 'link');
    link('dangling', join(bench.outside, 'new'));
    link('loop', 'loop');
    link('proc', '/proc/self/root');
    return {
      'by ..': '../secret',
      'by .. below /workspace': '/workspace/../secret',
      'by .. after a folder that is not there': 'a/../../secret',
      absolute: secret,
      'beside it, with its name as a beginning': `${bench.workspace}-else/x`,
      'a link': 'link',
      'a folder that is a link': 'folder/secret',
      'a new file below a link': 'folder/new',
      'a relative link': 'relative',
      'a chain of links': 'chain',
      'a link to nowhere': 'dangling',
      'a link to itself': 'loop',
      'a link into /proc': `proc${secret}`,
      '/proc/self/root': `/proc/self/root${secret}`,
      '/proc/self/environ': '/proc/self/environ',
      'a zero byte': 'link\0.txt',
    };
  };

  it('are refused by read, write and edit', async () => {
    const secret = () => readFileSync(join(bench.outside, 'secret'), 'utf8');
    for (const [how, path] of Object.entries(attempts())) {
      const results = [
        await bench.call('read', { path }),
        await bench.call('write', { path, content: 'mine' }),
        await bench.call('edit', { path, edits: [{ oldText: 'host', newText: 'mine' }] }),
        await bench.call('exec', { command: 'cat secret', cwd: path }),
      ];
      expect({ how, refused: results.map(({ isError }) => isError) }).toEqual({
        how,
        refused: [true, true, true, true],
      });
      expect(results.map(({ text }) => text).join()).not.toContain('of the host');
      expect(secret()).toBe('of the host');
    }
    expect(readdirSync(bench.outside).sort()).toEqual(['secret', 'workspace']);
  });

  it('are not confused with links inside it, and a workspace may itself be a link', async () => {
    put('real', 'inside');
    symlinkSync('real', join(bench.workspace, 'alias'));
    const moved = join(bench.outside, 'moved');
    renameSync(bench.workspace, moved);
    symlinkSync(moved, bench.workspace);
    expect((await bench.call('read', { path: 'alias' })).text).toContain('inside');
    expect((await bench.call('write', { path: 'new', content: 'x' })).isError).toBeUndefined();
    expect((await bench.call('read', { path: join(moved, 'real') })).text).toContain('inside');
    expect((await bench.call('read', { path: '..name' })).text).toBe('There is no file ..name.');
  });

  it('are checked again after opening, which detects a folder replaced by a link', async () => {
    mkdirSync(join(bench.workspace, 'folder'));
    put('folder/secret', 'inside');
    writeFileSync(join(bench.outside, 'secret'), 'of the host');
    const { openToRead, workspacePath } = await import('../../../agent/tools/files/paths.ts');
    const at = await workspacePath(bench.workspace, 'folder/secret');
    rmSync(join(bench.workspace, 'folder'), { recursive: true });
    symlinkSync(bench.outside, join(bench.workspace, 'folder'));
    await expect(openToRead(bench.workspace, at)).rejects.toThrow('not in the workspace');
  });
});

describe('a folder of the workspace', () => {
  it('stays the opened one when its name becomes a link', async () => {
    const paths = await import('../../../agent/tools/files/paths.ts');
    const at = await paths.workspacePath(bench.workspace, 'a/b');
    const folder = await paths.makeFolder(bench.workspace, at);
    onTestFinished(() => folder.close());
    renameSync(join(bench.workspace, 'a'), join(bench.workspace, 'moved'));
    symlinkSync(bench.outside, join(bench.workspace, 'a'));
    writeFileSync(join(folder.at, 'made'), 'x');
    expect(existsSync(join(bench.workspace, 'moved/b/made'))).toBe(true);
    await expect(paths.makeFolder(bench.workspace, at)).rejects.toThrow(/a part of a\/b|not in/i);
    await expect(paths.openFolder(bench.workspace, at)).rejects.toThrow(paths.PathRefused);
    expect(readdirSync(bench.outside)).toEqual(['workspace']);
  });

  it('with thousands of files is reported without a complete list', async () => {
    mkdirSync(join(bench.workspace, 'full'));
    for (let index = 0; index < 2_001; index++) put(`full/${index}`, '');
    const { text } = await bench.call('read', { path: 'full' });
    expect(text).toContain('full is a folder of more than 2000:');
    expect(text.split('\n')).toHaveLength(502);
  });

  it('keeps notes only in a plain file, and does not block on a pipe', async () => {
    const notes = { id: 'n1', sessionKey: 's', text: 'hello', at: Date.now() };
    expect(await logNotes(bench.workspace, notes)).toBe(true);
    const memory = join(bench.workspace, 'memory');
    const [name = ''] = readdirSync(memory);
    const first = readFileSync(join(memory, name), 'utf8');
    expect(first).toContain('hello');
    expect(await logNotes(bench.workspace, notes)).toBe(true);
    expect(readFileSync(join(memory, name), 'utf8')).toBe(first);
    rmSync(join(memory, name));
    execFileSync('mkfifo', [join(memory, name)]);
    expect(await logNotes(bench.workspace, notes)).toBe(false);
    rmSync(memory, { recursive: true });
    symlinkSync(bench.outside, memory);
    expect(await logNotes(bench.workspace, notes)).toBe(false);
    expect(readdirSync(bench.outside)).toEqual(['workspace']);
  });
});

describe('a special file', () => {
  it('is refused without blocking: pipes, devices, sockets', async () => {
    execFileSync('mkfifo', [join(bench.workspace, 'pipe')]);
    symlinkSync('/dev/zero', join(bench.workspace, 'zero'));
    const server = createServer().listen(join(bench.workspace, 'socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    try {
      for (const path of ['pipe', 'zero', 'socket']) {
        expect(await bench.call('read', { path })).toMatchObject({ isError: true });
        expect(await bench.call('write', { path, content: 'x' })).toMatchObject({ isError: true });
      }
      expect(existsSync(join(bench.workspace, 'pipe'))).toBe(true);
    } finally {
      server.close();
    }
  });

  it('does not change the other name of a hard link', async () => {
    writeFileSync(join(bench.outside, 'other'), 'of the host');
    linkSync(join(bench.outside, 'other'), join(bench.workspace, 'hard'));
    await bench.call('write', { path: 'hard', content: 'mine' });
    expect(readFileSync(join(bench.outside, 'other'), 'utf8')).toBe('of the host');
    expect(got('hard')).toBe('mine');
  });
});
