/** An import opens no partial cell, stores nothing twice, and never mixes the times of two logs. */
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Address, address } from '../../../protocols/address.ts';
import { decodeCell } from '../../../runtime/cell-record.ts';
import { cellSubject, journalSubject, mailboxSubject } from '../../../protocols/subjects.ts';
import { createSystem } from '../../../runtime/index.ts';
import { AppendUnknown, type Log } from '../../../runtime/log/log.ts';
import { Fold, type Scalars } from '../../../runtime/shard/commit/fold.ts';
import { decodeIntent, encodeIntent, type Intent } from '../../../runtime/shard/turn/intents.ts';
import { MemoryState } from '../../../runtime/state/memory.ts';
import { exportCell } from '../../../runtime/transfer/export.ts';
import { importCell, type ImportTarget } from '../../../runtime/transfer/import.ts';
import { moveRow, moveScalars } from '../../../runtime/transfer/moved.ts';
import { folderWorkspaces } from '../../../runtime/workspaces/folder.ts';
import { syncedWorkspaces } from '../../../runtime/workspaces/synced.ts';
import { Random } from '../../../library/simulation/random.ts';
import { eventually } from '../eventually.ts';
import { ShiftedClock } from '../system/shifted-clock.ts';
import { openWorld, puppet } from '../system/world.ts';
import { contentOf } from '../workspaces/contract.ts';
import { acceptOnly, Carried, exported, moved, scratch, withStore } from './carried.ts';
import { allPlaces, MemoryPlace, memoryPlaces } from './places.ts';

const a = puppet('a');
const HOUR_MS = 3_600_000;

/** A small installation with mail, a transcript, letters and an audit. */
async function someFile(): Promise<string> {
  const world = await openWorld();
  for (const n of [1, 2, 3]) await world.ask(a, { type: 'do', n, appends: [{ type: 'said', n }] });
  for (const n of [4, 5]) await world.tell(puppet('b'), { type: 'do', n, throws: 'assign' });
  const [letter] = await world.letters(2);
  await world.system.deadLetters.drop(letter!.position, { who: 'otto', why: 'seen' });
  await world.stop();
  const mail = [6, 7, 8].map((n) => [a, { type: 'do', n }] as const);
  await acceptOnly(world.path, 2, mail);
  return (await exported(world.path)).file;
}

const recordOf = async ({ log }: ImportTarget, env: string) =>
  decodeCell<Record<string, unknown>>((await log.readLast(cellSubject(env)))!);

/** The log with another append function. */
const passing = (log: Log, append: Log['append']): Log => ({
  atomic: false,
  append,
  last: (subject) => log.last(subject),
  readLast: (subject) => log.readLast(subject),
  read: (...args) => log.read(...args),
  follow: (...args) => log.follow(...args),
  trim: (...args) => log.trim(...args),
  close: () => log.close(),
});

/** Aborts when the import reports this step. */
const stopAt = (what: string) => {
  const given = new AbortController();
  const onProgress = (now: string) => {
    if (now.startsWith(what)) given.abort();
  };
  return { onProgress, signal: given.signal };
};

describe.each(allPlaces())('an import into $name', ({ name, make }) => {
  it('is refused if there is a cell, and names it', async () => {
    const file = await someFile();
    const { place, summary } = await moved(make, file);
    const { target, env } = place;
    await expect(importCell({ target, env, file, again: true })).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { reason: 'EXISTS', cell: summary.cell },
    });
    expect(await recordOf(target, env)).toMatchObject({ cell: summary.cell, shards: 2 });
  });

  it('admits no process until it is complete, and explains what to do after an interruption', async () => {
    const file = await someFile();
    const place = await make();
    const { env, target } = place;
    await expect(importCell({ target, env, file, ...stopAt('shard 2') })).rejects.toMatchObject({
      code: 'CANCELLED',
    });
    expect(await recordOf(target, env)).toMatchObject({ importing: true, shards: 2 });
    await expect(importCell({ target, env, file })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('--again'),
      details: { reason: 'IMPORTING' },
    });
    if (name === 'memory') {
      const ports = await place.open();
      await expect(createSystem({ actors: [], ...ports, env })).rejects.toMatchObject({
        code: 'UNAVAILABLE',
      });
    }
    await place.close();
  });

  it.skipIf(name === 'memory')(
    'restarts on request, and then admits waiting processes',
    async () => {
      const [first, second] = [await someFile(), await someFile()];
      const place = await make();
      const { target, env } = place;
      await expect(
        importCell({ target, env, file: first, ...stopAt('transcripts') }),
      ).rejects.toMatchObject({ code: 'CANCELLED' });
      const waiting = place.open();
      const { cell } = await importCell({ target, env, file: second, again: true });
      const ports = await waiting;
      expect(ports.store.cell).toBe(cell);
      await ports.store.close();
      const there = await Carried.open(place);
      await eventually(() =>
        expect(there.known(a).seen).toEqual([1, 2, 3, 6, 7, 8].map((n) => `do:${n}`)),
      );
      expect(await there.system.transcripts.read(a)).toHaveLength(3);
      expect(await there.system.deadLetters.list()).toHaveLength(1);
      expect(await there.system.deadLetters.audits()).toHaveLength(1);
      await place.close();
    },
  );

  it.skipIf(name === 'memory')(
    'changes nothing when another import has restarted meanwhile',
    async () => {
      const file = await someFile();
      const place = await make();
      const { target, env } = place;
      let go: (() => void) | undefined;
      const held = new Promise<void>((resolve) => (go = resolve));
      let reached: (() => void) | undefined;
      const slow = new Promise<void>((resolve) => (reached = resolve));
      const log = passing(target.log, async (...args) => {
        if (args[0].startsWith('jrn.')) {
          reached?.();
          await held;
        }
        return target.log.append(...args);
      });
      const overtaken = importCell({ target: { ...target, log }, env, file });
      await slow;
      await importCell({ target, env, file, again: true });
      const record = await recordOf(target, env);
      go?.();
      await expect(overtaken).rejects.toMatchObject({ code: 'CONFLICT' });
      expect(await recordOf(target, env)).toEqual(record);
      const there = await Carried.open(place);
      await eventually(() =>
        expect(there.known(a).seen).toEqual([1, 2, 3, 6, 7, 8].map((n) => `do:${n}`)),
      );
      await place.close();
    },
  );
});

/** A log that loses answers, and stores some appends late: right before the next one. */
function lossy(log: Log, seed: number): Log {
  const chance = new Random(seed);
  let late: (() => Promise<unknown>) | undefined;
  const append: Log['append'] = async (...args) => {
    await late?.();
    late = undefined;
    const fate = chance.whole(0, 9);
    if (fate === 0) throw new AppendUnknown(args[0]);
    if (fate === 1) late = () => log.append(...args);
    else if (fate === 2) await log.append(...args);
    else return log.append(...args);
    throw new AppendUnknown(args[0]);
  };
  return passing(log, append);
}

describe('an import', () => {
  it('stores every entry once when answers are lost and appends arrive late', async () => {
    const file = await someFile();
    const contents = async ({ log }: ImportTarget) => {
      const subjects = [
        ...[0, 1].flatMap((shard) => [
          mailboxSubject('new', shard, 'data'),
          mailboxSubject('new', shard, 'control'),
        ]),
        'trn.new.t.puppet.a',
        'a2a.actors.new.dlq',
        'a2a.actors-audit.new.dlq',
      ];
      return Promise.all(
        subjects.map(async (subject) =>
          (await log.read(subject, 1)).map(({ bytes }) => Buffer.from(bytes).toString('hex')),
        ),
      );
    };
    const plain = (await moved(memoryPlaces.make, file)).place.target;
    for (const seed of [1, 2, 3]) {
      const place = new MemoryPlace();
      const { target, env } = place;
      await importCell({ target: { ...target, log: lossy(target.log, seed) }, env, file });
      expect(await contents(target)).toEqual(await contents(plain));
      for (const shard of [0, 1])
        expect(await target.log.read(journalSubject(env, shard), 1)).toHaveLength(1);
      expect(await target.log.read(cellSubject(env), 1)).toHaveLength(2);
    }
  });

  it('is refused if mailboxes, journals or transcripts already contain entries', async () => {
    const file = await someFile();
    for (const subject of ['mbx.new.1.control', 'jrn.new.1', 'trn.new.t.puppet.a']) {
      const { target, env } = new MemoryPlace();
      await target.log.append(subject, Buffer.from('other'));
      await expect(importCell({ target, env, file })).rejects.toMatchObject({
        code: 'CONFLICT',
        details: { reason: 'NOT_EMPTY', subject },
      });
    }
  });

  it('keeps the time of mail accepted long ago: no key has expired, no deadline is too far', async () => {
    const world = await openWorld();
    await world.stop();
    const day = { ttlMs: 24 * HOUR_MS };
    await acceptOnly(world.path, 2, [
      [a, { type: 'do', n: 'keyed' }, { key: 'k', ...day }],
      [a, { type: 'do', n: 'short' }, { ttlMs: HOUR_MS }],
    ]);
    const { file } = await exported(world.path);
    const clock = new ShiftedClock();
    clock.shift(3 * HOUR_MS);
    const place = new MemoryPlace(clock);
    await importCell({ target: place.target, env: place.env, file });
    const there = await Carried.open(place, { clock });
    const letters = await eventually(async () => {
      const found = await there.system.deadLetters.list();
      expect(found).toHaveLength(1);
      return found;
    });
    const letter = await there.system.deadLetters.get(letters[0]!.position);
    expect(letter).toMatchObject({ event: { n: 'short' }, error: { code: 'EXPIRED' } });
    expect(there.known(a).seen).toEqual(['do:keyed']);
    await there.ask(a, { type: 'do', n: 'keyed' }, { key: 'k' });
    expect(there.known(a).seen).toEqual(['do:keyed']);
  });

  it('quarantines a shard whose rows are damaged later, and never starts with an empty one', async () => {
    const { place, summary } = await moved(memoryPlaces.make, await someFile());
    await place.target.blobs.delete(`snap/${summary.cell}/0/0-0`);
    const there = await Carried.open(place);
    const [first, second] = there.system.status();
    expect(first).toMatchObject({ state: 'quarantined' });
    expect(first?.why).toContain(`snap/${summary.cell}/0/0-0`);
    expect(second).toMatchObject({ state: 'owned' });
  });
});

describe('a shard that moves to another log', () => {
  it('has every link settled up to its last number', () => {
    const { scalars } = Fold.empty(0, new MemoryState(), true, 'c');
    const linkOut = { '1/data': 1_000_001, 'dlq/data': 2 };
    const old: Scalars = { ...scalars, linkOut, linkIn: { '1/data': 7 }, recId: 'r', prev: 9 };
    const places = { mailFloor: 3, ctlFloor: 0, find: () => undefined };
    expect(moveScalars(old, places)).toMatchObject({
      linkOut,
      linkIn: old.linkIn,
      outFloor: { '1/data': 1_000_000, 'dlq/data': 1 },
      recId: '',
      prev: 0,
      mailFloor: 3,
    });
  });

  it('has no epoch, because the first owner could have the same number and would run an effect of class once again', () => {
    const intent: Intent = {
      actor: a,
      machine: 'puppet@1',
      job: 'once',
      key: 'k',
      src: 'once',
      cls: 'once',
      state: 'started',
      attempt: 1,
      epoch: 2,
      at: 1,
      input: null,
    };
    const { value } = moveRow({ table: 'intent', key: 'i', value: encodeIntent(intent) });
    expect(decodeIntent(value)).toEqual({ ...intent, epoch: 0 });
  });

  it('contains no unsettled message', () => {
    expect(() => moveRow({ table: 'out', key: 'x', value: Buffer.alloc(0) })).toThrow(
      'not settled',
    );
  });
});

describe('an export', () => {
  const progress: string[] = [];
  const onProgress = (line: string) => void progress.push(line);
  const none = (_: Address): string | undefined => undefined;
  const exporting = (path: string, root?: string, filesOf = none) =>
    withStore(path, async (ports) => {
      const file = join(await scratch(), 'file');
      const about = { ...ports, file, program: 'test', onProgress };
      await exportCell({ ...about, ...(root && { workspaces: { root, filesOf } }) });
      return file;
    });

  it('includes the files of actors in folders of the machine', async () => {
    const [root, cacheFolder, own] = [await scratch(), await scratch(), await scratch()];
    const filesOf = (actor: Address) => (actor === a ? own : undefined);
    const world = await openWorld();
    const { cell } = world.system;
    const b = puppet('b');
    for (const actor of [a, b]) await world.ask(actor, { type: 'do', n: 1 });
    await world.stop();
    const absent = address('t', 'puppet', 'absent');
    const { signal } = new AbortController();
    const fill = async (actor: Address, fillFolder: (path: string) => Promise<void>) => {
      const from = folderWorkspaces({ root, cell, filesOf, create: true });
      const workspace = await from.open(actor, { signal });
      await fillFolder(workspace.path);
      await workspace.save();
      const content = await contentOf(workspace.path);
      await workspace.close();
      return content;
    };
    const content = await fill(a, async (path) => {
      await mkdir(join(path, 'src/empty'), { recursive: true });
      await writeFile(join(path, 'src/run'), 'x'.repeat(5_000_000));
      await chmod(join(path, 'src/run'), 0o755);
      await writeFile(join(path, 'src/same'), 'x'.repeat(5_000_000));
      await symlink('src/run', join(path, 'link'));
      await symlink('/usr/bin/env', join(path, 'program'));
    });
    await fill(b, async (path) => {
      await writeFile(join(path, 'kept'), 'x');
      await symlink('/etc/passwd', join(path, 'out'));
    });
    await fill(absent, (path) => writeFile(join(path, 'file'), 'x'));
    const { place } = await moved(memoryPlaces.make, await exporting(world.path, root, filesOf));
    const { blobs } = place.target;
    const there = syncedWorkspaces({ blobs, cell, cacheFolder });
    const workspace = await there.open(a, { signal });
    expect(await contentOf(workspace.path)).toEqual(content);
    expect(workspace.version).toBe(1);
    await writeFile(join(workspace.path, 'more'), 'x');
    await workspace.save();
    expect(workspace.version).toBe(2);
    await workspace.close();
    const other = await there.open(b, { signal });
    expect(Object.keys(await contentOf(other.path))).toEqual(['kept']);
    await other.close();
    expect(progress).toContainEqual(
      expect.stringMatching(
        /^not exported from the workspace of t\/puppet\/b: "out", it is a link/,
      ),
    );
  });

  it('names a workspace that exceeds its limits', async () => {
    const root = await scratch();
    const world = await openWorld();
    const { cell } = world.system;
    await world.ask(a, { type: 'do', n: 1 });
    await world.stop();
    const signal = new AbortController().signal;
    const workspace = await folderWorkspaces({ root, cell, create: true }).open(a, { signal });
    await mkdir(join(workspace.path, 'deep/'.repeat(40)), { recursive: true });
    await workspace.close();
    await expect(exporting(world.path, root)).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      message: expect.stringContaining(`${a} cannot be exported from ${workspace.path}`) as string,
    });
  });

  it('is refused for a store without a cell, and for one with unknown content', async () => {
    const empty = await scratch();
    await expect(exporting(empty)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const world = await openWorld();
    await world.stop();
    await withStore(world.path, ({ store }) =>
      store.log.append('mbx.local.2.data', Buffer.alloc(1)),
    );
    await expect(exporting(world.path)).rejects.toThrow(
      'mbx.local.2.data, which an export does not',
    );
  });

  it('is refused for a store that is damaged', async () => {
    const world = await openWorld();
    await world.ask(a, { type: 'do', n: 1 });
    await world.stop();
    await withStore(world.path, async ({ store }) => {
      await store.log.append('jrn.local.0', Buffer.from('no record'));
    });
    await expect(exporting(world.path)).rejects.toMatchObject({
      details: { reason: 'CORRUPT', shard: 0 },
    });
  });
});
