import { describe, expect, it, onTestFinished } from 'vitest';
import { ERRORS } from '../../../protocols/errors.ts';
import { createMetrics, SERIES_MAX } from '../../../runtime/observe/metrics.ts';
import { registerTracer } from './tracer.ts';

const facts = {
  action: 'orders.place_order',
  tenant: 'acme',
  principal: 'shop',
  status: 'SUCCEEDED',
  latencyMs: 12,
};
const labels = { action: 'orders.place_order', tenant: 'acme', principal: 'shop' };

/** Lines of one metric. */
const seriesOf = (text: string, name: string): string[] =>
  text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
const valueOf = (text: string, name: string): number =>
  Number(seriesOf(text, name)[0]?.split(' ').at(-1));

describe('metrics', () => {
  it('count envelopes with the five labels', async () => {
    const metrics = createMetrics({ process: false });
    metrics.request(facts);
    metrics.request(facts);
    metrics.request({ ...facts, status: 'REFUSED', errorCode: 'CONFLICT' });
    expect(seriesOf(await metrics.text(), 'a2a_requests_total')).toEqual([
      'a2a_requests_total{action="orders.place_order",tenant="acme",principal="shop",status="SUCCEEDED",error_code=""} 2',
      'a2a_requests_total{action="orders.place_order",tenant="acme",principal="shop",status="REFUSED",error_code="CONFLICT"} 1',
    ]);
  });

  // A share since the last scrape depended on when another scraper had read it.
  it('show the busy share of the event loop to any number of scrapers', async () => {
    const metrics = createMetrics({ process: false });
    metrics.watch({ status: () => [], nodes: () => [] });
    const untilMs = performance.now() + 400;
    while (performance.now() < untilMs);
    const read = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      const text = await metrics.text();
      const active = valueOf(text, 'troupe_event_loop_active_seconds_total');
      return { active, share: valueOf(text, 'troupe_event_loop_utilization') };
    };
    const [first, second] = [await read(), await read()];
    expect(first.active).toBeGreaterThan(0.4);
    expect(second.active).toBeGreaterThanOrEqual(first.active);
    expect(first.share).toBeGreaterThan(0.5);
    expect(second.share).toBeGreaterThan(first.share / 2);
  });

  it('count refusals by seq apart from other conflicts', async () => {
    const metrics = createMetrics({ process: false });
    const conflict = { ...facts, status: 'REFUSED', errorCode: 'CONFLICT' };
    metrics.request(conflict);
    metrics.request({ ...conflict, seqRefused: true });
    expect(seriesOf(await metrics.text(), 'a2a_seq_refused_total')).toEqual([
      'a2a_seq_refused_total{action="orders.place_order",tenant="acme",principal="shop",status="REFUSED",error_code="CONFLICT"} 1',
    ]);
  });

  it('count retries and dead letters by reason, and report the last use of a quota', async () => {
    const metrics = createMetrics({ process: false });
    metrics.retry({ ...labels, errorCode: 'UNAVAILABLE' });
    metrics.deadLetter({ ...labels, errorCode: 'INTERNAL' });
    metrics.request({ ...facts, quotaUsed: 0.5 });
    metrics.request({ ...facts, quotaUsed: 0.75 });
    const text = await metrics.text();
    expect(seriesOf(text, 'a2a_retries_total')).toEqual([
      'a2a_retries_total{action="orders.place_order",tenant="acme",principal="shop",status="RUNNING",error_code="UNAVAILABLE"} 1',
    ]);
    expect(seriesOf(text, 'a2a_dlq_total')).toEqual([
      'a2a_dlq_total{action="orders.place_order",tenant="acme",principal="shop",status="FAILED",error_code="INTERNAL"} 1',
    ]);
    expect(seriesOf(text, 'a2a_quota_used_ratio')).toEqual([
      'a2a_quota_used_ratio{tenant="acme",principal="shop"} 0.75',
    ]);
  });

  it('measure latency in buckets of milliseconds', async () => {
    const metrics = createMetrics({ process: false });
    metrics.request(facts);
    const buckets = seriesOf(await metrics.text(), 'a2a_latency_ms_bucket');
    const under = (bound: string) => buckets.find((line) => line.includes(`le="${bound}"`));
    expect(under('10')).toMatch(/ 0$/);
    expect(under('20')).toMatch(/ 1$/);
  });

  it('stay bounded under 10,000 principals, tenants and actions', async () => {
    const metrics = createMetrics({ process: false });
    const codes = ['', ...Object.keys(ERRORS)];
    for (let n = 0; n < 10_000; n++) {
      const code = codes[n % codes.length]!;
      const one = {
        action: `orders.do_${n}`,
        tenant: `tenant-${n}`,
        principal: `principal-${n}`,
        status: code === '' ? 'SUCCEEDED' : `REFUSED`,
        latencyMs: n % 3_000,
        quotaUsed: 0.1,
        errorCode: code,
      };
      metrics.request(one);
      metrics.request({ ...one, action: `orders.do_${n % 150}`, tenant: `tenant-${n % 90}` });
      metrics.retry({ ...one, errorCode: code });
      metrics.deadLetter({ ...one, errorCode: code, tenant: `tenant-${n % 90}` });
    }
    const text = await metrics.text();
    // states and codes are fixed lists; all other labels are merged
    const rest = 10 * (codes.length + 1);
    const most = SERIES_MAX.counter + SERIES_MAX.folded + rest;
    for (const name of ['a2a_requests_total', 'a2a_retries_total', 'a2a_dlq_total']) {
      expect(seriesOf(text, name).length).toBeGreaterThan(10);
      expect(seriesOf(text, name).length).toBeLessThanOrEqual(most);
    }
    const sets = seriesOf(text, 'a2a_latency_ms_count').length;
    expect(sets).toBeLessThanOrEqual(SERIES_MAX.histogram + SERIES_MAX.folded + rest);
    expect(seriesOf(text, 'a2a_quota_used_ratio').length).toBeLessThanOrEqual(101 * 101);
    // and the total is unchanged
    const sum = (name: string) =>
      seriesOf(text, name).reduce((total, line) => total + Number(line.split(' ').at(-1)), 0);
    expect(sum('a2a_requests_total')).toBe(20_000);
    expect(sum('a2a_latency_ms_count')).toBe(20_000);
    expect(sum('a2a_dlq_total')).toBe(10_000);
  });

  it('merge unknown actions, and names that never authenticated', async () => {
    const metrics = createMetrics({
      process: false,
      isOffered: (action) => action === facts.action,
    });
    metrics.request({ ...facts, action: 'orders.guess_name' });
    const missed = { action: 'orders.guess_again', status: 'REFUSED', errorCode: 'NOT_FOUND' };
    metrics.request({ ...facts, ...missed });
    metrics.request({
      ...facts,
      tenant: 'made-up',
      principal: 'unknown-principal',
      status: 'REFUSED',
      errorCode: 'UNAUTHORIZED',
    });
    const text = await metrics.text();
    expect(text).toContain('action="other",tenant="acme"');
    expect(text).not.toMatch(/guess_(name|again)/);
    expect(text).not.toContain('made-up');
    expect(text).not.toContain('unknown-principal');
  });

  it('escape labels so that no text of a caller becomes a separate line', async () => {
    const metrics = createMetrics({ process: false });
    metrics.request({ ...facts, principal: 'a"} 1\nevil_total 9\n' });
    expect(seriesOf(await metrics.text(), 'evil_total')).toEqual([]);
  });

  it('report the 95th percentile of acceptance, within its bucket', () => {
    const metrics = createMetrics({ process: false, now: () => 1_000 });
    expect(metrics.ack()).toBeUndefined();
    for (let n = 1; n <= 100; n++) metrics.request({ ...facts, ackMs: n <= 94 ? 8 : 150 });
    const ack = metrics.ack()!;
    expect(ack).toMatchObject({ count: 100, since: 1_000 });
    expect(ack.p95Ms).toBeGreaterThan(100);
    expect(ack.p95Ms).toBeLessThan(200);
    for (let n = 0; n < 100; n++) metrics.request({ ...facts, ackMs: 60_000 });
    expect(metrics.ack()!.p95Ms).toBe(10_000);
  });

  it('name the traces of acceptances as OpenMetrics, while a tracer is registered', async () => {
    const metrics = createMetrics({ now: () => 1_500 });
    metrics.request({ ...facts, ackMs: 8, traceId: 'a'.repeat(32) });
    expect(await metrics.text('openmetrics')).not.toContain(' # {');
    const tracer = registerTracer();
    onTestFinished(() => tracer.stop());
    metrics.request({ ...facts, ackMs: 8, traceId: 'b'.repeat(32) });
    const text = await metrics.text('openmetrics');
    expect(text).toContain(
      `troupe_ack_ms_bucket{le="10"} 2 # {trace_id="${'b'.repeat(32)}"} 8 1.5\n`,
    );
    expect(text).toMatch(/\n# TYPE a2a_requests counter\na2a_requests_total\{/);
    expect(text).toMatch(/\n# EOF\n$/);
    expect(text).not.toContain('\n\n');
    // and the other format has neither
    expect(await metrics.text()).toMatch(/\n# TYPE a2a_requests_total counter\n/);
    expect(await metrics.text()).not.toMatch(/trace_id|EOF/);
  });

  it('count shards without an owner, and report a number that cannot be read as NaN', async () => {
    const metrics = createMetrics({ process: false });
    const shard = { epoch: 1, position: 0, turnNo: 0, mailFloor: 0, ctlFloor: 0, now: 0 };
    const idle = { ...shard, lag: 0, residents: 0 };
    const status = () =>
      [
        { ...idle, shard: 0, state: 'owned', node: 'a', snapshotDueMs: 4_000 },
        { ...idle, shard: 1, state: 'quarantined', node: 'b' },
        { ...idle, shard: 2, state: 'loading', node: 'b' },
        { ...idle, shard: 3, state: 'loading', node: 'a', lagUnknown: true },
      ] as const;
    metrics.watch({ status, nodes: () => [] }, { node: 'a', shards: 5 });
    metrics.gauge('troupe_broken', 'cannot be read', () => Promise.reject(new Error('down')));
    metrics.shardTaken(false);
    metrics.shardTakeFailed();
    const text = await metrics.text();
    expect(valueOf(text, 'troupe_shards_unowned')).toBe(3);
    expect(valueOf(text, 'troupe_mailbox_lag_unknown')).toBe(1);
    expect(valueOf(text, 'troupe_snapshot_overdue_seconds')).toBe(4);
    expect(valueOf(text, 'troupe_broken')).toBeNaN();
    expect(seriesOf(text, 'troupe_shard_takeovers_total')).toEqual([
      'troupe_shard_takeovers_total{reason="handed_over"} 0',
      'troupe_shard_takeovers_total{reason="unowned"} 1',
    ]);
    expect(valueOf(text, 'troupe_shard_takeovers_failed_total')).toBe(1);
  });

  it("read the runtime's own metrics at each scrape", async () => {
    const metrics = createMetrics();
    let lag = 3;
    const shard = { shard: 0, epoch: 1, position: 0, turnNo: 0, mailFloor: 0, ctlFloor: 0, now: 0 };
    metrics.watch({
      status: () => [
        { ...shard, state: 'owned', lag, residents: 2 },
        { ...shard, state: 'owned', lag: 99, residents: 1, node: 'elsewhere' },
      ],
      nodes: () => [],
    });
    metrics.gauge('troupe_outstanding', 'envelopes that are not answered yet', () => 7);
    const text = await metrics.text();
    expect(valueOf(text, 'troupe_shards_owned')).toBe(1);
    expect(valueOf(text, 'troupe_mailbox_lag')).toBe(3);
    expect(valueOf(text, 'troupe_outstanding')).toBe(7);
    expect(valueOf(text, 'process_resident_memory_bytes')).toBeGreaterThan(0);
    lag = 0;
    expect(valueOf(await metrics.text(), 'troupe_mailbox_lag')).toBe(0);
  });
});
