/** The chart of a disk: each state, and that a disk at a threshold does not flap. */
import { expect, it } from 'vitest';
import { initialTransition, transition } from 'xstate';
import type { DiskThresholds } from '../../protocols/disk.ts';
import { LEAVE_FACTOR, diskMachine } from '../../installation/disk/machine.ts';
import { isAcceptedReadOnly } from '../../installation/disk/read-only-rules.ts';

const usual = { warn: 1_000, readOnly: 100 };

const statesOf = (...free: readonly number[]) => statesWith(usual, ...free);
const statesWith = (thresholds: DiskThresholds, ...free: readonly number[]) => {
  let [now] = initialTransition(diskMachine);
  return free.map((freeBytes) => {
    [now] = transition(diskMachine, now, { type: 'disk.measured', freeBytes, thresholds });
    return now.value;
  });
};

it('enters each state below its threshold', () => {
  expect(statesOf(1_000, 999, 100, 99)).toEqual(['enough', 'low', 'low', 'readOnly']);
  expect(statesOf(99)).toEqual(['readOnly']);
});

it('leaves a state only with room above its threshold', () => {
  expect(statesOf(99, 100, 149, 100 * LEAVE_FACTOR)).toEqual([
    'readOnly',
    'readOnly',
    'readOnly',
    'low',
  ]);
  expect(statesOf(999, 1_000, 1_499, 1_500)).toEqual(['low', 'low', 'low', 'enough']);
  expect(statesOf(50, 5_000)).toEqual(['readOnly', 'enough']);
});

it('stays read-only where the warning is disabled', () => {
  expect(statesWith({ warn: 0, readOnly: 100 }, 99, 120, 149, 150)).toEqual([
    'readOnly',
    'readOnly',
    'readOnly',
    'enough',
  ]);
});

it('accepts what ends, deletes or continues work, and refuses new work', () => {
  const accepts = (type: string, more = {}) => isAcceptedReadOnly({ type }, more);
  for (const type of ['session.close', 'session.abort', 'keyring.revoke', 'sys.eraseHistory'])
    expect(accepts(type)).toBe(true);
  for (const type of ['erasure.request', 'hold.set', 'hold.release', 'audit.note'])
    expect(accepts(type)).toBe(true);
  for (const type of ['session.receive', 'chat.inbound', 'task.submit', 'schedule.put', 'bill.pay'])
    expect(accepts(type)).toBe(false);
  expect(accepts('bill.pay', { continues: true })).toBe(true);
  expect(accepts('bill.pay', { lane: 'control' })).toBe(true);
});
