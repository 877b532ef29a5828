/** Sweeps of a whole installation: what is older than its age goes, and nothing else. */
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { memoryPrefix } from '../../../installation/blob-segments.ts';
import { address } from '../../../protocols/address.ts';
import { auditAddress, auditDay, type AuditNote } from '../../../protocols/audit.ts';
import { legalHoldAddress } from '../../../protocols/erasure.ts';
import { NO_ITEMS, retentionAddress, type RetentionRow } from '../../../protocols/retention.ts';
import { fileOf } from '../../../runtime/artifacts/folder-room.ts';
import { fileBlobsBeside } from '../../../runtime/blobs/files.ts';
import { storeFolder } from '../../../runtime/config/index.ts';
import { embeddedBlobsFolder } from '../../../runtime/embedded.ts';
import { openFolderArtifacts } from '../../../runtime/artifacts/folder.ts';
import { install } from '../../agent-runs/installation.ts';
import { eventually } from '../../runtime/eventually.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { ask, type Troupe } from '../erasure/canary.ts';

const KEYS = ['agent:main:one', 'agent:main:two', 'agent:main:three'];
const DAY_MS = 86_400_000;

const sweep = async ({ system }: Troupe, tenant = 'default'): Promise<RetentionRow> =>
  (await ask(system, retentionAddress(tenant), {
    type: 'retention.sweep',
    who: 'ada',
  })) as RetentionRow;

/** The age of a second has elapsed for everything before. */
const elapse = () => new Promise((resolve) => setTimeout(resolve, 1_100));

async function installed(retention: object, more: object = {}): Promise<Troupe> {
  const troupe = await install({ config: { retention, ...more }, data: scratchFolder() });
  for (const key of KEYS) await troupe.run(key, `hello from ${key}`);
  await eventually(() => {
    for (const key of KEYS) expect(troupe.sessionRow(key)?.status).toBe('idle');
  });
  return troupe;
}

async function makeLetter({ system }: Troupe, key: string): Promise<void> {
  const session = address('default', 'session', key);
  await ask(system, session, { type: 'sys.quarantine', why: 'to make a letter' });
  await system.tell(
    session,
    { type: 'session.receive', text: 'a letter', runId: `letter-${key}` },
    { principal: { sub: 'ada', roles: ['operator'] } },
  );
  await eventually(async () => {
    const letters = await system.deadLetters.list();
    expect(letters.some(({ to }) => to === session)).toBe(true);
  });
  await ask(system, session, { type: 'sys.resume' });
}

const receipts = async ({ system }: Troupe) => {
  const entries = await system.transcripts.read(auditAddress('default', auditDay(Date.now())));
  return entries
    .map(({ entry }) => entry as unknown as { action: string; on: Record<string, string> })
    .filter(({ action }) => action === 'retention.sweep');
};

it('removes idle sessions with their transcripts, and leaves a receipt without content', {
  timeout: 60_000,
}, async () => {
  const troupe = await installed({ transcripts: '1s' });
  await elapse();
  await troupe.run('agent:main:young', 'hello');
  await eventually(() => expect(troupe.sessionRow('agent:main:young')?.status).toBe('idle'));
  const row = await sweep(troupe);
  expect(row).toMatchObject({ state: 'waiting', removed: { ...NO_ITEMS, transcripts: 3 } });
  expect(row.sweep).toMatchObject({ skipped: 0, held: 0, failed: {} });
  // A dry run is the plan of a sweep.
  expect(row.sweep!.found).toEqual(row.sweep!.removed);
  for (const key of KEYS) {
    expect(troupe.sessionRow(key)).toBeUndefined();
    expect(await troupe.transcript(key)).toEqual([]);
  }
  expect((await troupe.transcript('agent:main:young')).length).toBeGreaterThan(0);
  await eventually(async () => {
    const [receipt, ...others] = await receipts(troupe);
    expect(others).toEqual([]);
    expect(receipt?.on).toMatchObject({ transcripts: '3', audit: '0', skipped: '0' });
    expect(JSON.stringify(receipt)).not.toContain('hello');
  });
  await troupe.run(KEYS[0]!, 'hello again');
  expect(JSON.stringify(await troupe.transcript(KEYS[0]!))).not.toContain('hello from');
});

it('keeps everything by default', { timeout: 60_000 }, async () => {
  const troupe = await installed({});
  await makeLetter(troupe, KEYS[0]!);
  await elapse();
  expect((await sweep(troupe)).removed).toEqual(NO_ITEMS);
  expect(await troupe.system.deadLetters.list()).toHaveLength(1);
});

it('respects legal holds of sessions and users, also for dead letters', {
  timeout: 60_000,
}, async () => {
  const troupe = await installed({ transcripts: '1s', deadLetters: '1s' });
  await troupe.run('agent:main:written', 'hello', { sender: 'telegram:42' });
  for (const key of [KEYS[0]!, KEYS[1]!]) await makeLetter(troupe, key);
  const holds = [
    { kind: 'session', id: KEYS[0]! },
    { kind: 'user', id: 'telegram:42' },
  ] as const;
  for (const { kind, id } of holds)
    await ask(troupe.system, legalHoldAddress({ tenant: 'default', kind, id }), {
      type: 'hold.set',
      kind,
      id,
      why: 'a case',
      who: 'ada',
    });
  await elapse();
  const row = await sweep(troupe);
  expect(row.sweep).toMatchObject({ removed: { transcripts: 2, deadLetters: 1 }, held: 3 });
  expect((await troupe.transcript(KEYS[0]!)).length).toBeGreaterThan(0);
  expect((await troupe.transcript('agent:main:written')).length).toBeGreaterThan(0);
  const letters = await troupe.system.deadLetters.list();
  expect(letters.map(({ to }) => to)).toEqual([address('default', 'session', KEYS[0]!)]);
});

it('removes a conversation before an old reset, and keeps what the model sees', {
  timeout: 60_000,
}, async () => {
  const troupe = await installed({ transcripts: '1s' });
  const session = address('default', 'session', KEYS[0]!);
  await ask(troupe.system, session, { type: 'session.reset', reason: 'a new day' });
  await elapse();
  await troupe.run(KEYS[0]!, 'hello after the reset');
  await eventually(() => expect(troupe.sessionRow(KEYS[0]!)?.status).toBe('idle'));
  expect((await sweep(troupe)).sweep!.removed.transcripts).toBe(3);
  const text = JSON.stringify(await troupe.transcript(KEYS[0]!));
  expect(text).toContain('hello after the reset');
  expect(text).not.toContain('hello from');
});

it('removes whole days of the audit, and keeps a day that names something held', {
  timeout: 60_000,
}, async () => {
  const troupe = await installed({ audit: '30d' });
  const { system } = troupe;
  const days = [100, 90, 10].map((days_) => Date.now() - days_ * DAY_MS);
  for (const [n, at] of days.entries()) {
    const note: AuditNote = {
      type: 'audit.note',
      records: [
        {
          at,
          who: 'ada',
          by: 'token',
          action: 'sessions.delete',
          on: { key: KEYS[n]! },
          outcome: 'done',
        },
      ],
    };
    await ask(system, auditAddress('default', auditDay(at)), note);
  }
  const hold = { kind: 'session', id: KEYS[1]! } as const;
  await ask(system, legalHoldAddress({ tenant: 'default', ...hold }), {
    type: 'hold.set',
    ...hold,
    why: 'a case',
    who: 'ada',
  });
  const row = await sweep(troupe);
  expect(row.sweep).toMatchObject({ removed: { audit: 1 }, held: 1 });
  const left = system.index.list('audits', 'default').map(({ key }) => key);
  expect(left).not.toContain(auditDay(days[0]!));
  expect(left).toContain(auditDay(days[1]!));
  expect(left).toContain(auditDay(days[2]!));
  expect(await system.transcripts.read(auditAddress('default', auditDay(days[0]!)))).toEqual([]);
});

it('rests when the budget of the hour is used up', { timeout: 60_000 }, async () => {
  const troupe = await installed({ transcripts: '1s', itemsPerTurn: 1, itemsPerHour: 2 });
  await elapse();
  const row = await sweep(troupe);
  expect(row).toMatchObject({ state: 'resting', removed: { transcripts: 2 } });
  expect(row.sweep!.found.transcripts).toBe(3);
  expect(KEYS.filter((key) => troupe.sessionRow(key) !== undefined)).toHaveLength(1);
});

it('rests when the bytes of the hour are used up, also between items of one turn', {
  timeout: 60_000,
}, async () => {
  const data = scratchFolder();
  const retention = { artifacts: '30d', bytesPerHour: 2 ** 20 };
  const troupe = await install({ config: { retention }, data });
  const path = join(data, 'artifacts');
  const about = { path, publicUrl: () => 'http://127.0.0.1:1', mimeTypes: ['text/plain'] };
  const bucket = await openFolderArtifacts(about);
  const old = new Date(Date.now() - 31 * DAY_MS);
  for (const text of ['a', 'b', 'c', 'd']) {
    const contents = Buffer.alloc(700_000, text);
    const { hash } = await bucket.put('default', contents, { contentType: 'text/plain' });
    await utimes(fileOf(path, 'default', hash), old, old);
  }
  const row = await sweep(troupe);
  // The second one exceeds the mebibyte, and is the last one.
  expect(row).toMatchObject({ state: 'resting', removed: { artifacts: 2 } });
  expect(row.sweep!.found.artifacts).toBe(4);
});

it('has ages of its own for a tenant, which inherits the others', {
  timeout: 60_000,
}, async () => {
  const troupe = await installed(
    { transcripts: 'keep', deadLetters: '1s' },
    { tenants: { acme: { retention: { transcripts: '1s' } } } },
  );
  await makeLetter(troupe, KEYS[2]!);
  const acme = address('acme', 'session', 'agent:main:main');
  await ask(troupe.system, acme, { type: 'session.set', label: 'work' });
  await elapse();
  const [own, others] = [await sweep(troupe, 'acme'), await sweep(troupe)];
  expect(own.removed).toEqual({ ...NO_ITEMS, transcripts: 1 });
  expect(others.removed).toEqual({ ...NO_ITEMS, deadLetters: 1 });
  for (const key of KEYS) expect(troupe.sessionRow(key)).toBeDefined();
});
it('removes unused files, but none that a held session or the state of an actor names', {
  timeout: 60_000,
}, async () => {
  const data = scratchFolder();
  const config = { retention: { artifacts: '30d' } };
  const troupe = await install({ config, data });
  const path = join(data, 'artifacts');
  const bucket = await openFolderArtifacts({
    path,
    publicUrl: () => 'http://127.0.0.1:1',
    mimeTypes: ['text/plain'],
  });
  const put = (text: string) =>
    bucket.put('default', Buffer.from(text), { contentType: 'text/plain' });
  const [unused, held, named, young] = await Promise.all(
    ['unused', 'held', 'named', 'young'].map(put),
  );
  const old = new Date(Date.now() - 31 * DAY_MS);
  for (const { hash } of [unused!, held!, named!])
    await utimes(fileOf(path, 'default', hash), old, old);
  await troupe.run(KEYS[0]!, `look at ${held!.hash}`);
  // The row of a session has its last message.
  await troupe.run(KEYS[1]!, named!.hash);
  const hold = { kind: 'session', id: KEYS[0]! } as const;
  await ask(troupe.system, legalHoldAddress({ tenant: 'default', ...hold }), {
    type: 'hold.set',
    ...hold,
    why: 'a case',
    who: 'ada',
  });
  const row = await sweep(troupe);
  expect(row.sweep!.removed).toEqual({ ...NO_ITEMS, artifacts: 1 });
  expect(row.sweep!.found).toEqual(row.sweep!.removed);
  await expect(bucket.get('default', unused!.hash)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  for (const { hash } of [held!, named!, young!]) await bucket.get('default', hash);
});

it('removes vectors of agents without an active session', { timeout: 60_000 }, async () => {
  const data = scratchFolder();
  const troupe = await install({ config: { retention: { memoryIndex: '1d' } }, data });
  const blobs = fileBlobsBeside(embeddedBlobsFolder(storeFolder({ home: data })));
  for (const agent of ['main', 'former'])
    await blobs.put(`${memoryPrefix(address('default', 'agent', agent))}m/s`, Buffer.from(agent));
  await troupe.run(KEYS[0]!, 'hello');
  const row = await sweep(troupe);
  expect(row.sweep!.removed).toEqual({ ...NO_ITEMS, memoryIndex: 1 });
  expect(await blobs.list('memory/default/')).toEqual([
    `${memoryPrefix(address('default', 'agent', 'main'))}m/s`,
  ]);
});

it('keeps resolved letters resolved when others are removed', { timeout: 60_000 }, async () => {
  const troupe = await installed({ deadLetters: '1d' });
  const { deadLetters, retaining } = troupe.system;
  for (const key of KEYS) await makeLetter(troupe, key);
  const letters = await deadLetters.list();
  await deadLetters.drop(letters[0]!.position, { who: 'ada', why: 'not needed' });
  const removed = await deadLetters.list({ includeResolved: true });
  await retaining.removeLetters('actors', new Set([removed[1]!.id]));
  expect((await deadLetters.list()).map(({ to }) => to)).toEqual([letters[2]!.to]);
  const all = await deadLetters.list({ includeResolved: true });
  expect(all.map(({ id }) => id).toSorted()).toEqual([removed[0]!.id, removed[2]!.id].toSorted());
  await retaining.removeLetters('actors', new Set(all.map(({ id }) => id)));
  expect(await deadLetters.list({ includeResolved: true })).toEqual([]);
  expect(await deadLetters.audits()).toHaveLength(1);
});
