/** How `troupe audit` prints records; their content is tested with the gateway. */
import { expect, test } from 'vitest';
import { auditTable } from '../../operations/audit.ts';

const DEVICE = '985a37773baa92e08c6946c8176384f8abecbb19226ee530f680451be7263f37';
const noted = { who: 'operator', by: 'token', gateway: 'g', position: 0 } as const;

test('records are printed in order of time, also if a later one was stored first', () => {
  const lines = auditTable([
    { ...noted, at: 3_000, action: 'node.invoke', outcome: 'failed', code: 'NOT_FOUND' },
    { ...noted, at: 1_000, ip: '127.0.0.1', action: 'connect', outcome: 'done' },
    { ...noted, at: 2_000, action: 'node.invoke', outcome: 'begun', on: { nodeId: DEVICE } },
  ]).split('\n');
  expect(lines[1]).toMatch(/^1970-01-01T00:00:01.000Z .* 127\.0\.0\.1 +connect +done$/);
  expect(lines[2]).toMatch(/^1970-01-01T00:00:02.000Z .* nodeId=985a37773baa +begun$/);
  expect(lines[3]).toMatch(/^1970-01-01T00:00:03.000Z .* failed: NOT_FOUND$/);
});
