/**
 * The write format of a cell: raised once, read by every process, refused by older programs. The
 * program under test knows one more format than this version does.
 */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Upgrade } from '../../runtime/upgrade.ts';
import { createRegistry } from '../../runtime/actor/registry.ts';
import { CellFormat } from '../../runtime/cell-format.ts';
import { cellHeader, decodeCell, encodeCell } from '../../runtime/cell-record.ts';
import { systemClock } from '../../runtime/index.ts';
import { createMemoryStore, type MemoryStore } from '../../runtime/log/memory.ts';
import {
  decodeKept,
  decodeMail,
  decodeRecord,
  encodeKept,
  encodeMail,
  encodeRecord,
  type OutItem,
} from '../../runtime/shard/commit/records.ts';
import type { NodeStatus } from '../../runtime/index.ts';

vi.mock(import('../../runtime/shard/commit/formats.ts'), () => {
  const first = { format: 1, oldestReader: 1, headerBytes: 7, since: '0.1.0', changes: 'header' };
  const next = { format: 2, oldestReader: 2, headerBytes: 11, since: '99', changes: 'longer' };
  return { FORMATS: [first, next] };
});

const SUBJECT = 'cell.local';
let store: MemoryStore;
beforeEach(async () => {
  store = createMemoryStore({ clock: systemClock });
  await store.log.append(SUBJECT, encodeCell({ shards: 2, cell: 'c' }, 1));
});
const open = () => CellFormat.open(store.log, 'local');
const stored = () => store.log.read(SUBJECT, 1);

const node = (name: string, reads: number): NodeStatus => ({
  node: name,
  name,
  role: 'worker',
  version: `0.${reads}.0`,
  startedAtMs: 0,
  draining: false,
  cordoned: false,
  labels: {},
  weight: 1,
  load: { cpu: 0, eventLoop: 0, effects: 0, rssBytes: 0, turnsPerSecond: 0 },
  reads,
  writes: 1,
  types: [],
  shards: 0,
  ageMs: 0,
});

const upgradeOf = (format: CellFormat, nodes: readonly NodeStatus[], isSettled = true) =>
  new Upgrade(() => ({
    format,
    registry: createRegistry([]),
    version: '99',
    hosting: { nodes: () => nodes, status: () => [], isSettled },
  }));

describe('records', () => {
  const item: OutItem = { to: 't/session/k' as never, id: 'm', event: { type: 'do' }, hops: 0 };
  const mail = { kind: 'links', cell: 'c', src: 1, lane: 'data', n: 1, items: [item] } as const;
  const head = { cell: 'c', recId: 'r', epoch: 1, prev: 2, now: 3 };
  const record = { t: 'TRY', ...head, input: 'm1.0' } as const;

  it.each([1, 2])('of format %i are read, each with its own header', (format) => {
    expect(decodeMail(encodeMail(mail, format))).toEqual(mail);
    expect(decodeRecord(encodeRecord(record, format))).toEqual(record);
    expect(decodeKept(encodeKept(item, format))).toEqual(item);
    for (const bytes of [encodeMail(mail, format), encodeRecord(record, format)])
      expect([...bytes.subarray(0, 3)]).toEqual([0xc1, format, format]);
  });

  it('of the two formats differ in more than the header', () => {
    expect(encodeMail(mail, 2).length).toBe(encodeMail(mail, 1).length + 4);
  });
});

describe('the format of a cell', () => {
  it('is the one of its record until it is raised, and only one process raises it', async () => {
    const [first, second] = [await open(), await open()];
    expect([first.writes, second.writes]).toEqual([1, 1]);
    const raised = await Promise.all([first.raise('ann', 7), second.raise('bob', 8)]);
    expect(raised.filter(Boolean)).toHaveLength(1);
    const entries = await stored();
    expect(entries).toHaveLength(2);
    expect(cellHeader(entries[1]!)).toEqual({ format: 2, minReader: 2 });
    expect(decodeCell(entries[1]!)).toMatchObject({ shards: 2, cell: 'c', raised: { from: 1 } });
    await second.read();
    expect([first.writes, second.writes]).toEqual([2, 2]);
  });

  it('is raised once however often it is finished', async () => {
    const upgrade = upgradeOf(await open(), [node('ann', 2)]);
    expect(await upgrade.status()).toMatchObject({ finish: { to: 2, state: 'allowed' } });
    expect(await upgrade.finish('ann', 7)).toMatchObject({ raised: true, cell: { format: 2 } });
    expect(await upgrade.finish('bob', 8)).toMatchObject({
      raised: false,
      cell: { raised: { by: 'ann', at: 7, from: 1 } },
      finish: { state: 'done' },
    });
    expect(await stored()).toHaveLength(2);
  });

  it.each([
    [
      'a process reads only the older one',
      [node('ann', 2), node('bob', 1)],
      true,
      /worker bob.*up to 1/,
    ],
    ['it is not known which processes live', [node('ann', 2)], false, /cannot tell/],
  ] as const)('is not raised while %s', async (_, nodes, isSettled, why) => {
    const upgrade = upgradeOf(await open(), nodes, isSettled);
    expect((await upgrade.status()).finish).toMatchObject({
      state: 'refused',
      why: expect.stringMatching(why) as string,
    });
    await expect(upgrade.finish('ann', 7)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await stored()).toHaveLength(1);
  });
});
