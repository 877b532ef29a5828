/** The contract of every provider of workspaces. */
import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Address, address } from '../../../protocols/address.ts';
import type { ErrorCode } from '../../../protocols/errors.ts';
import type {
  Workspace,
  WorkspaceLimits,
  Workspaces,
} from '../../../runtime/workspaces/workspaces.ts';
import { peekContract } from './peek-contract.ts';
import { temporaryFolder } from './temporary.ts';
import { change, patient, type WorkspacesUnderTest } from './under-test.ts';

const a = address('t', 'agent', 'a');

/** Everything in a folder: kind, permission bits of files, bytes or target, by path. */
export async function contentOf(folder: string, within = ''): Promise<Record<string, string>> {
  const content: Record<string, string> = {};
  for (const name of (await readdir(join(folder, within))).sort()) {
    const path = join(within, name);
    const place = join(folder, path);
    const entry = await lstat(place);
    if (entry.isDirectory())
      Object.assign(content, { [path]: 'folder' }, await contentOf(folder, path));
    else if (entry.isSymbolicLink()) content[path] = `link ${await readlink(place)}`;
    else content[path] = `${(entry.mode & 0o777).toString(8)} ${await readFile(place, 'base64')}`;
  }
  return content;
}

export async function found(workspaces: Workspaces, actor: Address) {
  const workspace = await workspaces.open(actor, patient);
  const content = await contentOf(workspace.path);
  await workspace.close();
  return content;
}

const fillOddly = async (path: string): Promise<void> => {
  await mkdir(join(path, 'empty/within'), { recursive: true });
  await mkdir(join(path, 'bin'));
  await writeFile(join(path, 'bin/run'), '#!/bin/sh\n');
  await chmod(join(path, 'bin/run'), 0o755);
  await writeFile(join(path, 'secret'), Buffer.from([0, 255, 10, 13, 0]), { mode: 0o600 });
  await writeFile(join(path, 'nothing'), '');
  await writeFile(join(path, 'Ünïcode – 語.md'), 'text');
  await symlink('../secret', join(path, 'bin/up'));
  await symlink('bin', join(path, 'tools'));
  await symlink('gone', join(path, 'dangling'));
};

export function workspacesContract(
  provider: string,
  unsaved: 'present' | 'absent',
  make: () => Promise<WorkspacesUnderTest>,
): void {
  const withWorkspaces = (test: (under: WorkspacesUnderTest) => Promise<void>) => async () => {
    const under = await make();
    try {
      await test(under);
    } finally {
      await under.dispose();
    }
  };

  describe(`workspaces in ${provider}`, () => {
    it(
      'are empty, of version 0, for an actor that never saved',
      withWorkspaces(async (under) => {
        const workspace = await under.worker().open(a, patient);
        expect(workspace.version).toBe(0);
        expect(await readdir(workspace.path)).toEqual([]);
        await workspace.close();
      }),
    );

    it(
      'contain for the next worker everything that was saved: bytes, modes, links, empty folders',
      withWorkspaces(async (under) => {
        let saved = {};
        const version = await change(under.worker(), a, async (path) => {
          await fillOddly(path);
          saved = await contentOf(path);
        });
        expect(version).toBe(1);
        expect(await found(under.worker(), a)).toEqual(saved);
        expect(Object.keys(saved)).toHaveLength(10);
      }),
    );

    it(
      'show the next worker every removal, rename and change of kind',
      withWorkspaces(async (under) => {
        const [one, two] = [under.worker(), under.worker()];
        await change(one, a, fillOddly);
        await found(two, a);
        let saved = {};
        await change(one, a, async (path) => {
          await rm(join(path, 'empty'), { recursive: true });
          await writeFile(join(path, 'empty'), 'a file now');
          await rm(join(path, 'tools'));
          await mkdir(join(path, 'tools'));
          await rm(join(path, 'bin/run'));
          await symlink('../empty', join(path, 'bin/run'));
          await rename(join(path, 'secret'), join(path, 'open'));
          await chmod(join(path, 'open'), 0o644);
          saved = await contentOf(path);
        });
        expect(await found(two, a)).toEqual(saved);
      }),
    );

    it(
      'save a file of many megabytes that was changed in its middle',
      withWorkspaces(async (under) => {
        const bytes = Buffer.alloc(9 * 1024 * 1024 + 7, 'troupe');
        const write = (path: string) => writeFile(join(path, 'large'), bytes);
        await change(under.worker(), a, write);
        bytes.write('changed', 5 * 1024 * 1024);
        const reader = under.worker();
        await found(reader, a);
        await change(under.worker(), a, write);
        const workspace = await reader.open(a, patient);
        expect((await readFile(join(workspace.path, 'large'))).equals(bytes)).toBe(true);
        await workspace.close();
      }),
    );

    it(
      `leave unsaved changes ${unsaved}`,
      withWorkspaces(async (under) => {
        const worker = under.worker();
        await change(worker, a, (path) => writeFile(join(path, 'note'), 'saved'));
        const workspace = await worker.open(a, patient);
        await writeFile(join(workspace.path, 'note'), 'not saved');
        await writeFile(join(workspace.path, 'more'), '');
        await workspace.close();
        const names = unsaved === 'present' ? ['more', 'note'] : ['note'];
        expect(Object.keys(await found(worker, a))).toEqual(names);
        expect(Object.keys(await found(under.worker(), a))).toEqual(names);
      }),
    );

    it(
      'are separate for every actor key',
      withWorkspaces(async (under) => {
        const worker = under.worker();
        const keys = [
          'x',
          'X',
          '../x',
          'x/../../..',
          '..',
          '.',
          'x.y',
          'x%2Fy',
          'x/y',
          '語'.repeat(150),
        ];
        for (const key of [...keys, `${'語'.repeat(149)}誤`]) {
          const workspace = await worker.open(address('t', 'agent', key), patient);
          expect(await readdir(workspace.path)).toEqual([]);
          await writeFile(join(workspace.path, 'key'), key);
          await workspace.save();
          await workspace.close();
        }
        for (const key of keys) {
          const content = await found(worker, address('t', 'agent', key));
          expect(content['key']).toContain(Buffer.from(key).toString('base64'));
        }
      }),
    );

    it(
      'admit a second opener when the first one has closed',
      withWorkspaces(async (under) => {
        const worker = under.worker();
        const first = await worker.open(a, patient);
        let opened: Workspace | undefined;
        const second = worker.open(a, patient).then((workspace) => (opened = workspace));
        await writeFile(join(first.path, 'note'), 'of the first');
        await first.save();
        expect(opened).toBeUndefined();
        await first.close();
        expect(Object.keys(await contentOf((await second).path))).toEqual(['note']);
        await (await second).close();
      }),
    );

    it(
      'end the wait of an opener with its signal, and admit the next one in order',
      withWorkspaces(async (under) => {
        const worker = under.worker();
        const first = await worker.open(a, patient);
        const abort = new AbortController();
        const second = worker.open(a, { signal: abort.signal });
        const third = worker.open(a, patient);
        abort.abort(new Error('no longer wanted'));
        await expect(second).rejects.toThrow('no longer wanted');
        await expect(Promise.race([third, Promise.resolve('waits')])).resolves.toBe('waits');
        await first.close();
        await (await third).close();
      }),
    );

    it(
      'are UNAVAILABLE while their storage is unreachable, at opening and saving, and unchanged afterwards',
      withWorkspaces(async (under) => {
        const worker = under.worker();
        await change(worker, a, (path) => writeFile(join(path, 'note'), 'saved'));
        const open = await worker.open(address('t', 'agent', 'b'), patient);
        await writeFile(join(open.path, 'note'), 'b');
        const giveBack = await under.takeAway();
        for (const opener of [worker, under.worker()]) {
          await expect(opener.open(a, patient)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
        }
        await expect(open.save()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
        await giveBack();
        await open.save();
        await open.close();
        expect(Object.keys(await found(worker, a))).toEqual(['note']);
        expect(Object.keys(await found(under.worker(), address('t', 'agent', 'b')))).toEqual([
          'note',
        ]);
      }),
    );

    const escaping: [string, string, string][] = [
      ['an absolute link', 'out', '/etc/passwd'],
      ['an absolute link that climbs out of the sandbox folders', 'out', '/usr/../etc/passwd'],
      ['a link to a folder that begins like one of the sandbox', 'out', '/usrlocal'],
      ['a link to the root', 'out', '/'],
      ['a long absolute link', 'out', `/${'x'.repeat(200)}`.repeat(20)],
      ['a link above the folder', 'out', '../other'],
      ['a link above the folder from within', 'sub/out', '../../other'],
      ['a link that climbs after it went down', 'out', 'sub/../../other'],
      ['a link that climbs out through another link', 'sub/out', 'top/../other'],
    ];
    it.each(escaping)('omit %s, report its name, and save the rest', async (_, path, target) => {
      await withWorkspaces(async (under) => {
        const worker = under.worker();
        await change(worker, a, (folder) => mkdir(join(folder, 'sub')));
        const workspace = await worker.open(a, patient);
        await symlink('..', join(workspace.path, 'sub/top'));
        await symlink(target, join(workspace.path, path));
        await writeFile(join(workspace.path, 'made'), 'by the same command');
        const left = [{ path, reason: expect.stringContaining(target) }];
        expect(await workspace.save()).toEqual(left);
        expect(workspace.version).toBe(2);
        await workspace.close();
        const content = await found(under.worker(), a);
        expect(content).toMatchObject({ made: expect.any(String), 'sub/top': 'link ..' });
        if (unsaved === 'absent') expect(content).not.toHaveProperty([path]);
      })();
    });

    it(
      'save links to paths of the sandbox as links, loops included, and never follow them',
      withWorkspaces(async (under) => {
        let saved = {};
        await change(under.worker(), a, async (path) => {
          await mkdir(join(path, 'v/bin'), { recursive: true });
          await symlink('/usr/bin/python3', join(path, 'v/bin/python3'));
          await symlink('python3', join(path, 'v/bin/python'));
          await symlink('/workspace/note', join(path, 'own'));
          await symlink('/lib', join(path, 'skills'));
          await symlink('two', join(path, 'one'));
          await symlink('one', join(path, 'two'));
          await writeFile(join(path, 'note'), 'inside');
          saved = await contentOf(path);
        });
        const worker = under.worker();
        expect(await found(worker, a)).toEqual(saved);
        expect(Object.keys(saved)).toHaveLength(9);
        const paths = ['own', 'v/bin/python', 'v/bin/python3', 'one', 'skills/*/SKILL.md'];
        for (const { bytes } of (await worker.peek(a, paths)).files) expect(bytes).toBeUndefined();
      }),
    );

    it(
      'omit special files, names that are not UTF-8, and folders with such names',
      withWorkspaces(async (under) => {
        const workspace = await under.worker().open(a, patient);
        const { path } = workspace;
        execFileSync('mkfifo', [join(path, 'pipe')]);
        const server = createServer().listen(join(path, 'socket'));
        await once(server, 'listening');
        const bad = Buffer.concat([Buffer.from(`${path}/bad`), Buffer.from([0xff])]);
        await mkdir(bad);
        await writeFile(Buffer.concat([bad, Buffer.from('/within')]), '');
        await symlink(Buffer.from([0xfe]), join(path, 'linked'));
        await writeFile(join(path, 'made'), 'kept');
        const left = await workspace.save();
        expect(left.map((one) => one.path)).toEqual(['bad\uFFFD', 'linked', 'pipe', 'socket']);
        await workspace.close();
        server.close();
        const again = await under.worker().open(a, patient);
        expect(await readFile(join(again.path, 'made'), 'utf8')).toBe('kept');
        const names = ['bad\uFFFD', 'linked', 'made', 'pipe', 'socket'];
        const here = (await readdir(again.path)).toSorted().filter((name) => name !== 'socket');
        const there = unsaved === 'present' ? names : ['made'];
        expect(here).toEqual(there.filter((name) => name !== 'socket'));
        await again.close();
      }),
    );

    it(
      'ignore a link planted in place of a folder, and never write through it',
      withWorkspaces(async (under) => {
        const elsewhere = await temporaryFolder();
        await mkdir(join(elsewhere, 'sub'));
        const worker = under.worker();
        const fill = async (path: string): Promise<void> => {
          await rm(join(path, 'sub'), { recursive: true, force: true });
          await mkdir(join(path, 'sub/sub'), { recursive: true });
          await writeFile(join(path, 'sub/sub/note'), 'inside');
        };
        const plant = async (workspace: Workspace) => {
          await rm(join(workspace.path, 'sub'), { recursive: true });
          await symlink(elsewhere, join(workspace.path, 'sub'));
        };
        await change(worker, a, fill);
        const unsavedPlant = await worker.open(a, patient);
        await plant(unsavedPlant);
        await unsavedPlant.close();
        await change(worker, a, fill);
        const workspace = await worker.open(a, patient);
        await plant(workspace);
        expect(await workspace.save()).toMatchObject([{ path: 'sub' }]);
        await workspace.close();
        await change(under.worker(), a, fill);
        await found(worker, a);
        expect(await readdir(elsewhere, { recursive: true })).toEqual(['sub']);
        await rm(elsewhere, { recursive: true });
      }),
    );

    const bounds: [string, Partial<WorkspaceLimits>, (path: string) => Promise<unknown>][] = [
      ['entries', { entriesMax: 3 }, (path) => mkdir(join(path, 'b/c/d'), { recursive: true })],
      ['depth', { depthMax: 2 }, (path) => mkdir(join(path, 'b/c/d'), { recursive: true })],
      ['bytes', { bytesMax: 15 }, (path) => writeFile(join(path, 'b'), 'x'.repeat(10))],
      ['bytes in a file', { fileBytesMax: 9 }, (path) => truncate(join(path, 'a'), 10)],
      ['bytes in a path', { pathBytesMax: 9 }, (path) => writeFile(join(path, 'x'.repeat(10)), '')],
    ];
    it.each(bounds)(
      'refuse more %s than allowed, and accept a later save with fewer',
      async (_, limits, grow) => {
        await withWorkspaces(async (under) => {
          const expected: ErrorCode = 'PAYLOAD_TOO_LARGE';
          const worker = under.worker(limits);
          await change(worker, a, (path) => writeFile(join(path, 'a'), 'ninebytes'));
          const workspace = await worker.open(a, patient);
          await grow(workspace.path);
          await expect(workspace.save()).rejects.toMatchObject({ code: expected });
          for (const entry of await readdir(workspace.path))
            await rm(join(workspace.path, entry), { recursive: true });
          await workspace.save();
          await workspace.close();
          expect(await found(worker, a)).toEqual({});
        })();
      },
    );

    it(
      'cannot be saved when closed, and may be closed twice',
      withWorkspaces(async (under) => {
        const workspace = await under.worker().open(a, patient);
        const saving = workspace.save();
        const closing = workspace.close();
        await saving;
        await closing;
        await workspace.close();
        await expect(workspace.save()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      }),
    );

    peekContract(withWorkspaces);
  });
}
