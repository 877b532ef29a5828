/**
 * Memory of the turns that wait for the next segment. Bug: each kept the encoder's whole buffer, so
 * that 4 MB of turns held 16 MB.
 */
import { expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { encode } from '../../../protocols/codec.ts';
import { createRegistry } from '../../../runtime/actor/registry.ts';
import { Batch } from '../../../runtime/history/batch.ts';
import { historyRules } from '../../../runtime/history/policy.ts';
import { openEffects } from '../../../runtime/history/summary.ts';
import type { OpenTurn } from '../../../runtime/shard/commit/group.ts';
import { lampType } from './lamps.ts';

const BLOCK_BYTES = 65_536;

const turnOf = (turnNo: number, puts: OpenTurn['puts'] = []): OpenTurn => ({
  turnNo,
  input: `m${turnNo}.0`,
  actor: address('default', 'lamp', `${turnNo % 10}`),
  machine: 'lamp@1',
  result: 'applied',
  puts,
  out: [],
});

const memoryOf = ({ full }: Batch): number => {
  const buffers = new Set([...full.values()].flat().map(({ buffer }) => buffer));
  return [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0);
};

it('is little more than their bytes', () => {
  const batch = new Batch(historyRules(createRegistry([lampType('full')]), 1), openEffects());
  for (let n = 1; n <= 2_000; n++) {
    batch.add({ now: n, aheadMs: 0, turns: [turnOf(n)] }, n);
    // What else the process encodes meanwhile shares the buffer of the encoder.
    encode('x'.repeat(3_000));
  }
  batch.add(
    { now: 1, aheadMs: 0, turns: [turnOf(2_001, [['row', 'key', Buffer.alloc(50_000)]])] },
    1,
  );
  expect(memoryOf(batch)).toBeLessThanOrEqual(batch.bytes + BLOCK_BYTES);
  const [first] = batch.full.values();
  const texts = first!.map((bytes) => Buffer.from(bytes).toString('latin1'));
  expect(new Set(texts).size).toBe(first!.length);
});
