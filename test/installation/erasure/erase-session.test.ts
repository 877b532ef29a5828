/** An erased session is in no file of the data folder, and other sessions stay whole. */
import { expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { auditDay, auditAddress } from '../../../protocols/audit.ts';
import { install } from '../../agent-runs/installation.ts';
import { eventually } from '../../runtime/eventually.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { erase, OPEN_CONFIG, fillSession, filesWith, lettersTo } from './canary.ts';

const CANARY = 'xq7erased-canary';
const OTHER = 'zw3other-canary';
const KEY = 'agent:main:trial';
const OTHER_KEY = 'agent:main:other';
const TARGET = { tenant: 'default', kind: 'session', id: KEY } as const;

it('an erased session is in no file, and another one stays whole', {
  timeout: 120_000,
}, async () => {
  const data = scratchFolder();
  const troupe = await install({ config: OPEN_CONFIG, data });
  await fillSession(troupe, KEY, CANARY);
  await fillSession(troupe, OTHER_KEY, OTHER);
  const others = await troupe.transcript(OTHER_KEY);
  expect(filesWith(data, CANARY)).not.toEqual([]);

  const row = await erase(troupe.system, TARGET);
  expect(filesWith(data, CANARY)).toEqual([]);
  expect(row.counts.sessions).toBe(2);
  expect(row.counts.deadLetters).toBe(1);
  expect(row.counts.files).toBe(2);
  expect(row.counts.transcriptEntries).toBeGreaterThan(5);

  expect(await troupe.transcript(KEY)).toEqual([]);
  expect(await troupe.transcript(OTHER_KEY)).toEqual(others);
  expect(filesWith(data, `${OTHER}-file`).length).toBeGreaterThan(1);
  expect(filesWith(data, `${OTHER}-note`).length).toBeGreaterThan(1);
  expect(filesWith(data, `${OTHER}-schedule`)).not.toEqual([]);
  expect(await lettersTo(troupe.system, address('default', 'session', OTHER_KEY))).toBe(1);

  const day = auditAddress('default', auditDay(row.endedAt!));
  await eventually(async () => {
    const records = await troupe.system.transcripts.read(day);
    expect(records.at(-1)?.entry).toMatchObject({
      who: 'ada',
      action: 'erasure.session',
      on: { id: KEY, sessions: '2' },
    });
  });

  await troupe.run(KEY, 'hello again');
  expect(JSON.stringify(await troupe.transcript(KEY))).not.toContain(CANARY);
  await troupe.stop();
  expect(filesWith(data, CANARY)).toEqual([]);
});
