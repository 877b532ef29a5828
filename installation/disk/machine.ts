/**
 * The chart of one disk: how much of it is free, and what that means for this process.
 *
 * - `enough`: nothing to do
 * - `low`: operators are warned; everything is accepted
 * - `readOnly`: no new work is accepted, so that accepted work can finish
 *
 * Invariant: a state is left only when LEAVE_FACTOR times its threshold is free, so that a disk at
 * a threshold does not change the state with every file.
 */
import { setup } from 'xstate';
import type { DiskThresholds } from '../../protocols/disk.ts';

export type DiskMeasured = {
  readonly type: 'disk.measured';
  readonly freeBytes: number;
  readonly thresholds: DiskThresholds;
};

export const LEAVE_FACTOR = 1.5;

export const diskMachine = setup({
  types: { events: {} as DiskMeasured },
  guards: {
    isFull: ({ event: { freeBytes, thresholds } }) => freeBytes < thresholds.readOnly,
    isLow: ({ event: { freeBytes, thresholds } }) => freeBytes < thresholds.warn,
    hasRoomToWrite: ({ event: { freeBytes, thresholds } }) =>
      freeBytes >= LEAVE_FACTOR * thresholds.readOnly,
    // A warning may be disabled, or have the smaller threshold.
    hasRoom: ({ event: { freeBytes, thresholds } }) =>
      freeBytes >= LEAVE_FACTOR * Math.max(thresholds.warn, thresholds.readOnly),
  },
}).createMachine({
  id: 'disk',
  initial: 'enough',
  states: {
    enough: {
      description: 'Enough is free.',
      on: {
        'disk.measured': [
          { guard: 'isFull', target: 'readOnly' },
          { guard: 'isLow', target: 'low' },
        ],
      },
    },
    low: {
      description: 'Little is free: operators are warned.',
      on: {
        'disk.measured': [
          { guard: 'isFull', target: 'readOnly' },
          { guard: 'hasRoom', target: 'enough' },
        ],
      },
    },
    readOnly: {
      description: 'Nearly nothing is free: no new work is accepted.',
      on: {
        'disk.measured': [
          { guard: 'hasRoom', target: 'enough' },
          { guard: 'hasRoomToWrite', target: 'low' },
        ],
      },
    },
  },
});
