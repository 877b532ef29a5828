/** The contract of `peek` and `list`, which read a workspace without opening it. */
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { PEEK_BYTES_MAX, type Peeked } from '../../../runtime/workspaces/peek.ts';
import { eventually } from '../eventually.ts';
import { change, patient, type WorkspacesUnderTest } from './under-test.ts';

type Test = (under: WorkspacesUnderTest) => Promise<void>;

const a = address('t', 'agent', 'a');
const b = address('t', 'agent', 'b');
const PATHS = ['AGENTS.md', 'USER.md', 'skills/*/SKILL.md'];

const textsOf = ({ files }: Peeked): Record<string, string> =>
  Object.fromEntries(
    files.map(({ path, bytes, left }) => [
      path,
      left ?? Buffer.from(bytes as Uint8Array).toString('utf8'),
    ]),
  );

const fill = async (path: string): Promise<void> => {
  await writeFile(join(path, 'AGENTS.md'), 'be kind');
  await writeFile(join(path, 'other.md'), 'not asked for');
  for (const skill of ['weather', 'mail']) {
    await mkdir(join(path, 'skills', skill), { recursive: true });
    await writeFile(join(path, 'skills', skill, 'SKILL.md'), skill);
  }
  await mkdir(join(path, 'skills/empty'));
};

export function peekContract(withWorkspaces: (test: Test) => () => Promise<void>): void {
  it(
    'list the plain files below a folder, while another worker has it open',
    withWorkspaces(async (under) => {
      expect(await under.worker().list(b, 'memory')).toEqual([]);
      await change(under.worker(), a, async (path) => {
        await mkdir(join(path, 'memory/trips'), { recursive: true });
        await writeFile(join(path, 'memory/2026-11-28.md'), 'monday');
        await writeFile(join(path, 'memory/trips/rome.md'), 'rome');
        await writeFile(join(path, 'memory.md'), 'beside it');
        await symlink('2026-11-28.md', join(path, 'memory/link.md'));
        await symlink('memory', join(path, 'alias'));
      });
      const opened = await under.worker().open(a, patient);
      try {
        const worker = under.worker();
        expect(await worker.list(a, 'memory')).toEqual([
          { path: 'memory/2026-11-28.md', bytes: 6 },
          { path: 'memory/trips/rome.md', bytes: 4 },
        ]);
        expect(await worker.list(a, 'memory/trips')).toEqual([
          { path: 'memory/trips/rome.md', bytes: 4 },
        ]);
        expect(await worker.list(a, 'alias')).toEqual([]);
        expect(await worker.list(a, 'memory.md')).toEqual([]);
        expect(await worker.list(a, 'absent')).toEqual([]);
      } finally {
        await opened.close();
      }
    }),
  );

  it(
    'return nothing for an actor without a workspace, and create none',
    withWorkspaces(async (under) => {
      const worker = under.worker();
      const seen = await worker.peek(b, PATHS);
      expect(seen.files).toEqual([]);
      expect(await worker.peek(b, PATHS, seen)).toBe(seen);
    }),
  );

  it(
    'show the requested files in their order, and folders by name',
    withWorkspaces(async (under) => {
      await change(under.worker(), a, fill);
      const seen = await under.worker().peek(a, PATHS);
      expect(textsOf(seen)).toEqual({
        'AGENTS.md': 'be kind',
        'skills/mail/SKILL.md': 'mail',
        'skills/weather/SKILL.md': 'weather',
      });
      expect(seen.files.map(({ path }) => path)).toEqual(Object.keys(textsOf(seen)));
    }),
  );

  it(
    'answer a peek without waiting for the worker that has it open',
    withWorkspaces(async (under) => {
      const worker = under.worker();
      await change(worker, a, fill);
      const open = await worker.open(a, patient);
      expect(textsOf(await worker.peek(a, PATHS))).toHaveProperty(['AGENTS.md'], 'be kind');
      await open.close();
    }),
  );

  it(
    'return the same result while nothing changes, and the saves of the same worker at once',
    withWorkspaces(async (under) => {
      const worker = under.worker();
      await change(worker, a, fill);
      let seen = await worker.peek(a, PATHS);
      await eventually(async () => {
        const again = await worker.peek(a, PATHS, seen);
        const same = again === seen;
        seen = again;
        expect(same).toBe(true);
      });
      await change(worker, a, async (path) => {
        await writeFile(join(path, 'AGENTS.md'), 'be mild');
        await rm(join(path, 'skills/mail'), { recursive: true });
        await writeFile(join(path, 'USER.md'), 'Ann');
      });
      expect(textsOf(await worker.peek(a, PATHS, seen))).toEqual({
        'AGENTS.md': 'be mild',
        'USER.md': 'Ann',
        'skills/weather/SKILL.md': 'weather',
      });
    }),
  );

  it(
    'show the saves of another worker soon',
    withWorkspaces(async (under) => {
      const [one, two] = [under.worker(), under.worker()];
      await change(one, a, fill);
      const seen = await two.peek(a, PATHS);
      await change(one, a, (path) => writeFile(join(path, 'AGENTS.md'), 'be brief'));
      await eventually(async () =>
        expect(textsOf(await two.peek(a, PATHS, seen))).toHaveProperty(['AGENTS.md'], 'be brief'),
      );
    }),
  );

  it(
    'follow links within the workspace, and mark entries that are too large or no file as unread',
    withWorkspaces(async (under) => {
      const worker = under.worker();
      await change(worker, a, async (path) => {
        await mkdir(join(path, 'notes'));
        await writeFile(join(path, 'notes/mine'), 'linked');
        await symlink('notes/mine', join(path, 'AGENTS.md'));
        await writeFile(join(path, 'USER.md'), Buffer.alloc(PEEK_BYTES_MAX + 1));
      });
      const seen = await worker.peek(a, ['AGENTS.md', 'USER.md', 'notes']);
      expect(textsOf(seen)).toEqual({
        'AGENTS.md': 'linked',
        'USER.md': 'too large',
        notes: 'unreadable',
      });
    }),
  );

  it(
    'are UNAVAILABLE for a peek, and never empty, when their storage is unreachable',
    withWorkspaces(async (under) => {
      await change(under.worker(), a, fill);
      const giveBack = await under.takeAway();
      await expect(under.worker().peek(a, PATHS)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      await giveBack();
      expect((await under.worker().peek(a, PATHS)).files).toHaveLength(3);
    }),
  );
}
