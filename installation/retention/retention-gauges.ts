/** Gauges about retention, of all tenants together: read from the rows of the sweepers. */
import {
  NO_ITEMS,
  RETENTION_INDEX,
  RETENTION_KEY,
  RETENTION_KINDS,
  type RetentionKind,
  type RetentionRow,
} from '../../protocols/retention.ts';
import type { Config } from '../../runtime/config/index.ts';
import type { Metrics, System } from '../../runtime/index.ts';
import { tenantsOf } from './rules.ts';

export function watchRetention(
  metrics: Pick<Metrics, 'gauge' | 'gaugeBy'>,
  { index }: Pick<System, 'index'>,
  config: Pick<Config, 'tenants'>,
): void {
  const rows = () =>
    tenantsOf(config).flatMap(
      (tenant) => index.get<RetentionRow>(RETENTION_INDEX, tenant, RETENTION_KEY) ?? [],
    );
  const removed = {
    name: 'troupe_retention_removed',
    help: 'items that sweeps have removed, by kind of data',
    label: 'kind',
  };
  metrics.gaugeBy(removed, () => removedIn(rows()));
  metrics.gauge(
    'troupe_retention_backlog',
    'items that the sweeps under way found, and have not removed yet',
    () => rows().reduce((sum, row) => sum + backlogOf(row), 0),
  );
  metrics.gauge(
    'troupe_retention_last_sweep_timestamp_seconds',
    'end of the last sweep of the tenant that waits longest for one; NaN before the first',
    () => {
      const ends = rows().flatMap(({ sweep }) => sweep?.endedAt ?? []);
      return ends.length === 0 ? Number.NaN : Math.min(...ends) / 1_000;
    },
  );
  metrics.gauge(
    'troupe_retention_overdue_seconds',
    'time since a sweep should have begun, or ended, of the worst tenant; 0 without any',
    () => Math.max(0, ...rows().map(({ dueAt }) => (Date.now() - dueAt) / 1_000)),
  );
}

function removedIn(rows: readonly RetentionRow[]): Record<RetentionKind, number> {
  const sum: Record<RetentionKind, number> = { ...NO_ITEMS };
  for (const { removed } of rows) for (const kind of RETENTION_KINDS) sum[kind] += removed[kind];
  return sum;
}

/** What was used again meanwhile is not part of it. */
function backlogOf({ sweep, state }: RetentionRow): number {
  if (state === 'waiting' || sweep === undefined) return 0;
  const { found, removed, skipped } = sweep;
  const left = RETENTION_KINDS.reduce((sum, kind) => sum + found[kind] - removed[kind], 0);
  return Math.max(0, left - skipped);
}
