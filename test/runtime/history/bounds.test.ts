/** What history does not keep: removed actors, types without it, and what cannot be stored. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { fullHistorySubject, historySubject, mailboxSubject } from '../../../protocols/subjects.ts';
import type { HistoryKept, HistorySettings } from '../../../runtime/history/policy.ts';
import { readFullTurns } from '../../../runtime/history/full-turns.ts';
import { HistoryRoom } from '../../../runtime/history/room.ts';
import { encodeSegment } from '../../../runtime/history/segment.ts';
import { openEffects, SummaryWriter } from '../../../runtime/history/summary.ts';
import { createSystem, openEmbedded } from '../../../runtime/index.ts';
import { systemClock } from '../../../runtime/clock/clock.ts';
import { MemoryLog } from '../../../runtime/log/memory.ts';
import type { Log } from '../../../runtime/log/log.ts';
import { eventually } from '../eventually.ts';
import { ada, lamp, lampType } from './lamps.ts';

async function open(
  keep: HistoryKept,
  {
    change = (log: Log) => log,
    history,
  }: { change?: (log: Log) => Log; history?: HistorySettings },
) {
  const path = mkdtempSync(join(tmpdir(), 'troupe-history-'));
  const ports = await openEmbedded({ path });
  const log = change(ports.store.log);
  const alarms: string[] = [];
  const system = await createSystem({
    ...ports,
    store: { ...ports.store, log, close: () => ports.store.close() },
    actors: [lampType(keep)],
    shards: 1,
    onAlarm: (what) => alarms.push(what),
    ...(history ? { history } : {}),
  });
  onTestFinished(async () => {
    await system.stop();
    rmSync(path, { recursive: true, force: true });
  });
  const rings = async (count: number) => {
    const sent = Array.from({ length: count }, () => system.tell(lamp(0), { type: 'ring' }, ada));
    await Promise.all(sent);
    await eventually(() => expect(system.status()[0]?.lag).toBe(0));
  };
  return { system, log, alarms, rings };
}

it('an actor that ended and is forgotten takes its turns with it, also those not stored yet', async () => {
  const { system, log, rings } = await open('full', {});
  await rings(400);
  const stored = () => readFullTurns(log, fullHistorySubject('local', lamp(0)));
  await eventually(async () => expect((await stored()).length).toBeGreaterThan(200));
  await system.tell(lamp(0), { type: 'remove' }, ada);
  await eventually(() => expect(system.inspect(lamp(0))).toBeUndefined());
  expect(await system.actors.history(lamp(0))).toEqual({ kept: 'full', turns: [] });
  await rings(300);
  await eventually(async () => expect((await stored())[0]?.turn.turnNo).toBeGreaterThan(401));
  await eventually(async () => {
    const { turns } = await system.actors.history(lamp(0), { limit: 1_000 });
    expect(turns).toHaveLength(300);
  });
});

it('of a type without history nothing is stored or shown', async () => {
  const { system, log, rings } = await open('summary', {
    history: { types: { lamp: { keep: 'none' } } },
  });
  await rings(600);
  expect(await log.last(historySubject('local', 0))).toBe(0);
  expect(await system.actors.history(lamp(0))).toEqual({ kept: 'none', turns: [] });
});

/** A log that stores no history while the disk is full. */
const failing =
  (disk: { isFull: boolean }) =>
  (log: Log): Log => ({
    atomic: log.atomic,
    append: (subject, ...rest) =>
      disk.isFull && subject.startsWith('hst.')
        ? Promise.reject(new Error('the disk is full'))
        : log.append(subject, ...rest),
    last: (subject) => log.last(subject),
    readLast: (subject) => log.readLast(subject),
    read: (...args) => log.read(...args),
    follow: (...args) => log.follow(...args),
    trim: (...args) => log.trim(...args),
    close: () => log.close(),
  });

it.each(['summary', 'full'] as const)(
  'bug: history of kind %s that was erased was shown again when the next turns were lost',
  async (keep) => {
    const disk = { isFull: false };
    const { system, log, alarms, rings } = await open(keep, { change: failing(disk) });
    await rings(400);
    const shown = async () => (await system.actors.history(lamp(0), { limit: 5_000 })).turns;
    await eventually(async () =>
      expect(await log.last(historySubject('local', 0))).toBeGreaterThan(0),
    );
    const [last] = await shown();
    disk.isFull = true;
    const operator = { principal: { sub: 'op', roles: ['operator'] }, timeoutMs: 10_000 };
    const erased = await system.ask(lamp(0), { type: 'sys.eraseHistory' }, operator);
    expect(erased).toMatchObject({ kind: 'answered' });
    await eventually(async () => {
      await rings(300);
      expect(alarms.join()).toContain('is lost');
    });
    disk.isFull = false;
    await rings(600);
    await eventually(async () => {
      await rings(1);
      const turns = await shown();
      expect(turns.length).toBeGreaterThan(300);
      expect(turns.at(-1)!.turn).toBeGreaterThan(last!.turn);
    });
  },
);

it('history that cannot be stored is lost with an alarm, and the shard trims and works on', async () => {
  const change = failing({ isFull: true });
  const { system, log, alarms, rings } = await open('summary', { change });
  const mail = mailboxSubject('local', 0, 'data');
  for (let round = 0; round < 4; round++) await rings(300);
  await eventually(async () => {
    await rings(1);
    const [first] = await log.read(mail, 1, { limit: 1 });
    expect(first!.position).toBeGreaterThan(500);
  });
  expect(alarms.join()).toMatch(/shard 0: the history of some turns is lost: the disk is full/);
  expect(system.status()[0]?.state).toBe('owned');
});

it('the oldest segments are removed when there are too many bytes, or when they are too old', async () => {
  const log = new MemoryLog(systemClock, true);
  const subject = historySubject('local', 0);
  const append = async (lastAt: number, total: number) => {
    const summaries = new SummaryWriter(openEffects());
    const head = { covers: lastAt, lastTurn: lastAt, lastAt, back: 0, full: [] };
    await log.append(subject, await encodeSegment(head, { actors: [], summaries }, () => total));
  };
  const day = 86_400_000;
  for (let n = 1; n <= 5; n++) await append(n * day, n * 100);
  const policyOf = () => ({ keep: 'summary' as const, turns: 1, days: 30 });
  const onFailed = (error: unknown) => {
    throw error;
  };
  const room = (bytesMax: number, daysMax: number) =>
    new HistoryRoom({
      log,
      env: 'local',
      subject,
      onFailed,
      rules: { policyOf, bytesMax, daysMax },
    });
  const left = async () => (await log.read(subject, 1)).map(({ position }) => position);
  await room(1_000, 30).keep({ total: 500, lastAt: 5 * day });
  expect(await left()).toEqual([1, 2, 3, 4, 5]);
  await room(350, 30).keep({ total: 500, lastAt: 5 * day });
  expect(await left()).toEqual([2, 3, 4, 5]);
  await room(1_000, 2).keep({ total: 500, lastAt: 6 * day });
  expect(await left()).toEqual([4, 5]);
});
