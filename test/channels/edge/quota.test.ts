import { expect, it } from 'vitest';
import type { Caller } from '../../../channels/edge/edge.ts';
import { type QuotaLimits, readLimits, TokenQuota } from '../../../channels/edge/quota.ts';
import type { Clock, NodeStatus } from '../../../runtime/index.ts';

const MINUTE_MS = 60_000;
const LIMITS = { principalPerMinute: 60, externalPerMinute: 6, tenantPerMinute: 100 };

const quotaOf = (
  limits: Partial<QuotaLimits> = {},
  { gateways = 1, namesMax }: { gateways?: number; namesMax?: number } = {},
) => {
  let nowMs = 0;
  const clock = { monotonicMs: () => nowMs } as Clock;
  const nodes: NodeStatus[] = [];
  const live = (count: number) => {
    const node = () => ({ role: 'gateway', draining: false }) as NodeStatus;
    nodes.splice(0, nodes.length, ...Array.from({ length: count }, node));
  };
  live(gateways);
  const quota = new TokenQuota({ ...LIMITS, ...limits }, { nodes: () => nodes }, clock, namesMax);
  const taken = (who: Caller, times: number) =>
    Array.from({ length: times }, () => quota.take(who)).filter(({ allowed }) => allowed).length;
  return { quota, taken, live, pass: (ms: number) => (nowMs += ms) };
};
const caller = (sub: string, more: Partial<Caller> = {}): Caller => ({
  sub,
  roles: [],
  tenant: 'acme',
  profile: 'A2A-Basic',
  ...more,
});

it('a principal may send a minute’s requests at once, and then more as time passes', () => {
  const { quota, taken, pass } = quotaOf();
  expect(taken(caller('a'), 200)).toBe(60);
  expect(quota.take(caller('a'))).toMatchObject({ allowed: false, retryAfterMs: 1_000 });
  pass(1_000);
  expect(taken(caller('a'), 5)).toBe(1);
  pass(10 * MINUTE_MS);
  expect(taken(caller('a'), 200)).toBe(60);
});

it("principals have separate limits, share the tenant's, and tenants have separate ones", () => {
  const { taken, quota } = quotaOf();
  expect(taken(caller('a'), 60)).toBe(60);
  expect(taken(caller('b'), 60)).toBe(40);
  expect(quota.take(caller('c'))).toMatchObject({ allowed: false, limit: 100, remaining: 0 });
  expect(taken(caller('a', { tenant: 'other' }), 100)).toBe(60);
});

it("a refusal by the tenant's limit costs the principal nothing", () => {
  const { taken, pass } = quotaOf({ tenantPerMinute: 30 });
  expect(taken(caller('a'), 50)).toBe(30);
  pass(MINUTE_MS);
  expect(taken(caller('a'), 50)).toBe(30);
});

it('external programs have a lower limit', () => {
  const { taken } = quotaOf();
  expect(taken(caller('a', { profile: 'A2A-External' }), 100)).toBe(6);
});

it('the answer reports the nearest limit', () => {
  const { quota } = quotaOf({ tenantPerMinute: 61 });
  expect(quota.take(caller('a'))).toMatchObject({ limit: 60, remaining: 59 });
  quota.take(caller('b'));
  expect(quota.take(caller('c'))).toMatchObject({ limit: 61, remaining: 58 });
});

it('gateways divide the limits by their current number', () => {
  const { taken, live, pass } = quotaOf({}, { gateways: 3 });
  expect(taken(caller('a'), 100)).toBe(20);
  live(1);
  pass(MINUTE_MS);
  expect(taken(caller('a'), 100)).toBe(60);
});

it('a limit below one per gateway still admits one request', () => {
  const { taken } = quotaOf({ principalPerMinute: 2 }, { gateways: 10 });
  expect(taken(caller('a'), 10)).toBe(1);
});

it('many new names get no full buckets, and remove no existing bucket', () => {
  const { quota, taken } = quotaOf({ tenantPerMinute: 1e9 });
  expect(taken(caller('a'), 60)).toBe(60);
  for (let n = 0; n < 40_000; n++) quota.take(caller(`p${n}`));
  expect(taken(caller('a'), 10)).toBe(0);
});

it('callers beyond the maximum of names share one bucket until others are full again', () => {
  const { taken, pass } = quotaOf({ tenantPerMinute: 1e9 }, { namesMax: 3 });
  for (const sub of ['a', 'b', 'c']) expect(taken(caller(sub), 60)).toBe(60);
  expect([taken(caller('d'), 50), taken(caller('e'), 50)]).toEqual([50, 10]);
  expect(taken(caller('f', { profile: 'A2A-External' }), 50)).toBe(6);
  pass(MINUTE_MS);
  expect([taken(caller('d'), 50), taken(caller('e'), 50)]).toEqual([50, 50]);
});

it('tenants beyond the maximum share one bucket, and leave room to others', () => {
  const { taken, pass } = quotaOf({}, { namesMax: 2 });
  const of = (tenant: string) => taken(caller('a', { tenant }), 60);
  expect([of('t1'), of('t2'), of('t3'), of('t4')]).toEqual([60, 60, 60, 0]);
  pass(MINUTE_MS);
  expect([of('t1'), of('t5'), of('t1')]).toEqual([60, 60, 0]);
});

it('reads have ten times the limit', () => {
  const { quota } = quotaOf(readLimits(LIMITS));
  expect(quota.take(caller('a'))).toMatchObject({ limit: 600, remaining: 599 });
});
