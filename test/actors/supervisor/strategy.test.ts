import { describe, expect, it } from 'vitest';
import { EMPTY_OUTBOX } from '../../../actors/supervisor/outbox.ts';
import {
  affected,
  backoffMs,
  concernsOthers,
  DEFAULT_LIMITS,
  orderForFailed,
  orderToEnd,
  orderToRestart,
  restartBackoffMs,
  wait,
  withFailure,
} from '../../../actors/supervisor/strategy.ts';
import { address } from '../../../protocols/address.ts';
import type { Down } from '../../../protocols/supervision.ts';

const [a, b, c] = ['a', 'b', 'c'].map((key) => address('default', 'order', key)) as [
  Down['child'],
  Down['child'],
  Down['child'],
];
const below = address('default', 'supervisor', 'below');
const down = (child: Down['child'], escalated?: true): Down => ({
  type: 'supervision.down',
  child,
  error: { code: 'INTERNAL', message: 'it threw' },
  crashes: 1,
  at: 0,
  poison: false,
  ...(escalated ? { escalated } : {}),
});

describe('who is affected by a failure', () => {
  it('is the child alone, one for one', () => {
    expect(affected('one-for-one', [a, b, c], b)).toEqual([b]);
  });
  it('is every child, one for all', () => {
    expect(affected('one-for-all', [a, b, c], b)).toEqual([a, b, c]);
  });
  it('is the child and those after it, rest for one', () => {
    expect(affected('rest-for-one', [a, b, c], b)).toEqual([b, c]);
  });
});

describe('the delay before a child continues', () => {
  it('doubles with each failure up to its bound', () => {
    const waits = [1, 2, 3, 4, 8, 9, 60].map((failures) => backoffMs(failures, DEFAULT_LIMITS));
    expect(waits).toEqual([200, 400, 800, 1_600, 25_600, 30_000, 30_000]);
  });
  it('counts only failures of the period', () => {
    const old = [
      { child: a, at: 0 },
      { child: a, at: 30_000 },
    ];
    expect(withFailure(old, { child: b, at: 60_000 }, DEFAULT_LIMITS)).toEqual([
      { child: a, at: 30_000 },
      { child: b, at: 60_000 },
    ]);
  });
  it('is that of the order which is due first, and never negative', () => {
    const waiting = [
      { child: a, order: 'sys.restart', due: 900 },
      { child: b, order: 'sys.resume', due: 700 },
    ] as const;
    const at = (now: number) => ({
      context: { waiting, outbox: EMPTY_OUTBOX },
      event: { meta: { now } },
    });
    expect(restartBackoffMs(at(500))).toBe(200);
    expect(restartBackoffMs(at(5_000))).toBe(0);
  });
  it('has one order per child: a later one replaces the earlier', () => {
    const first = { child: a, order: 'sys.restart', due: 1 } as const;
    const later = { child: a, order: 'sys.restart', due: 2 } as const;
    expect(wait([first], [later])).toEqual([later]);
  });
});

describe('the order for a child', () => {
  it('follows its specification', () => {
    const orders = (['restart', 'resume', 'quarantine'] as const).map((action) =>
      orderForFailed(down(a), action),
    );
    expect(orders).toEqual(['sys.restart', 'sys.resume', 'sys.quarantine']);
  });
  it('keeps the children of a crashed supervisor, and restarts one that escalated', () => {
    expect(orderForFailed(down(below), 'restart')).toBe('sys.resume');
    expect(orderForFailed(down(below, true), 'restart')).toBe('supervisor.restart');
    expect(orderForFailed(down(below, true), 'quarantine')).toBe('sys.quarantine');
  });
  it('reaches the children of a supervisor below', () => {
    expect([orderToRestart(a), orderToRestart(below)]).toEqual([
      'sys.restart',
      'supervisor.restart',
    ]);
    expect([orderToEnd(a, 'quarantine'), orderToEnd(below, 'stop')]).toEqual([
      'sys.quarantine',
      'supervisor.stop',
    ]);
  });
  it('affects the others only when the child restarts', () => {
    const orders = ['sys.restart', 'supervisor.restart', 'sys.resume', 'sys.quarantine'] as const;
    expect(orders.map(concernsOthers)).toEqual([true, true, false, false]);
  });
});
