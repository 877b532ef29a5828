/** Old turns of actors are removed by tenant, and summaries when every tenant allows it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { history } from '../../../installation/retention/history.ts';
import { Holds } from '../../../installation/retention/holds.ts';
import type { KindParts } from '../../../installation/retention/kind.ts';
import type { Config } from '../../../runtime/config/index.ts';
import { createSystem, openEmbedded, type System } from '../../../runtime/index.ts';
import { ada, lamp, lampType } from '../../runtime/history/lamps.ts';
import { eventually } from '../../runtime/eventually.ts';

async function open(): Promise<System> {
  const path = mkdtempSync(join(tmpdir(), 'troupe-retention-'));
  const ports = await openEmbedded({ path });
  const system = await createSystem({ ...ports, actors: [lampType('full')], shards: 1 });
  onTestFinished(async () => {
    await system.stop();
    rmSync(path, { recursive: true, force: true });
  });
  return system;
}

const partsOf = (system: System, ofT: string): KindParts => ({
  system,
  config: {
    retention: { history: '1d' },
    tenants: { t: { retention: { history: ofT } } },
    a2a: { artifacts: { keepDays: 0 } },
  } as unknown as Config,
  holds: new Holds(system),
  bucket: () => Promise.reject(new Error('no bucket')),
  blobs: () => Promise.reject(new Error('no blobs')),
  signal: new AbortController().signal,
});

/** All items, picked a few at a time as a dry run does. */
async function found(parts: KindParts, tenant: string, before: number): Promise<string[]> {
  const items: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const input = { tenant, kind: 'history', before, cursor, limit: 2 } as const;
    const picked = await history.pick(parts, input);
    expect(picked.items.length).toBeLessThanOrEqual(2);
    items.push(...picked.items);
    ({ cursor } = picked);
    if (cursor === null) return items;
  }
}

it('removes turns with bodies of one tenant, and summaries after the longest age', {
  timeout: 60_000,
}, async () => {
  const system = await open();
  for (let round = 0; round < 4; round++) {
    const sent = Array.from({ length: 400 }, (_, n) =>
      system.tell(lamp(n % 3), { type: 'ring' }, ada),
    );
    await Promise.all(sent);
    await eventually(() => expect(system.status()[0]?.lag).toBe(0));
  }
  const now = Date.now() + 2_000;
  const parts = partsOf(system, '1d');
  await eventually(async () => expect((await found(parts, 't', now)).length).toBeGreaterThan(4));
  expect(await found(parts, 't', 0)).toEqual([]);
  expect(await found(parts, 'other', now)).toEqual([]);
  const items = await found(parts, 't', now);
  expect(new Set(items).size).toBe(items.length);
  expect(await history.remove(parts, { tenant: 't', before: now }, items)).toBe(0);
  // A repeat, as after a crash, is no error.
  expect(await history.remove(parts, { tenant: 't', before: now }, items)).toBe(0);
  const left = await found(parts, 't', now);
  expect(left.filter((item) => items.includes(item))).toEqual([]);

  expect(await found(partsOf(system, 'keep'), 'default', now)).toEqual([]);
  const summaries = await found(parts, 'default', now);
  expect(summaries.length).toBeGreaterThan(0);
  expect(await history.remove(parts, { tenant: 'default', before: now }, summaries)).toBe(0);
  const after = await found(parts, 'default', now);
  expect(after.filter((item) => summaries.includes(item))).toEqual([]);
});
