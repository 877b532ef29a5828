/** The Grafana dashboard of deploy/grafana/dashboards/troupe.json. */

type Unit = 'short' | 'ms' | 's' | 'bytes' | 'percentunit' | 'reqps' | 'dateTimeFromNow';

/** A time series, or the newest value of it where `now` is set. */
type Panel = {
  readonly title: string;
  readonly unit: Unit;
  /** legend and expression */
  readonly series: readonly (readonly [legend: string, expr: string])[];
  readonly now?: true;
  /** above it the value is red */
  readonly limit?: number;
  /** of its points to traces */
  readonly exemplars?: true;
};

type Row = { readonly title: string; readonly panels: readonly Panel[] };

const quantile = (of: number, metric: string): string =>
  `histogram_quantile(${of}, sum by (le) (rate(${metric}_bucket[$__rate_interval])))`;
const rate = (by: string, metric: string): string =>
  `sum by (${by}) (rate(${metric}[$__rate_interval]))`;

export const ROWS: readonly Row[] = [
  {
    title: 'Objectives',
    panels: [
      {
        title: 'Acknowledgement, 95 of 100',
        unit: 'ms',
        series: [['p95', quantile(0.95, 'troupe_ack_ms')]],
        now: true,
        limit: 1_000,
      },
      {
        title: 'End of tasks after their ETA, 95 of 100',
        unit: 's',
        series: [['p95', 'max(troupe_tasks_late_p95_seconds)']],
        now: true,
        limit: 60,
      },
      {
        title: 'Dead letters per task, 1 day',
        unit: 'percentunit',
        series: [
          [
            'share',
            'sum(increase(a2a_dlq_total[1d])) / sum(increase(a2a_requests_total{status!="REFUSED"}[1d]))',
          ],
        ],
        now: true,
        limit: 0.001,
      },
      {
        title: 'Age of the last verified backup',
        unit: 's',
        series: [['age', 'max(min by (cell) (troupe_backup_age_seconds))']],
        now: true,
        limit: 26 * 3_600,
      },
    ],
  },
  {
    title: 'Requests',
    panels: [
      {
        title: 'Envelopes per second, by status',
        unit: 'reqps',
        series: [['{{status}}', rate('status', 'a2a_requests_total')]],
      },
      {
        title: 'Refusals and failures, by code',
        unit: 'reqps',
        series: [
          [
            '{{error_code}}',
            'sum by (error_code) (rate(a2a_requests_total{error_code!=""}[$__rate_interval]))',
          ],
        ],
      },
      {
        title: 'Acknowledgement',
        unit: 'ms',
        series: [
          ['p50', quantile(0.5, 'troupe_ack_ms')],
          ['p95', quantile(0.95, 'troupe_ack_ms')],
          ['p99', quantile(0.99, 'troupe_ack_ms')],
        ],
        exemplars: true,
      },
      {
        title: 'Answer, by action, 95 of 100',
        unit: 'ms',
        series: [
          [
            '{{action}}',
            'histogram_quantile(0.95, sum by (le, action) (rate(a2a_latency_ms_bucket[$__rate_interval])))',
          ],
        ],
      },
      {
        title: 'Used share of the nearest quota, highest ten',
        unit: 'percentunit',
        series: [
          [
            '{{tenant}} {{principal}}',
            'topk(10, max by (tenant, principal) (a2a_quota_used_ratio))',
          ],
        ],
      },
      {
        title: 'Retries per second, by code',
        unit: 'reqps',
        series: [['{{error_code}}', rate('error_code', 'a2a_retries_total')]],
      },
    ],
  },
  {
    title: 'Shards and messages',
    panels: [
      {
        title: 'Shards, by process',
        unit: 'short',
        series: [['{{instance}}', 'sum by (instance) (troupe_shards_owned)']],
      },
      {
        title: 'Shards without an owner, and in quarantine',
        unit: 'short',
        series: [
          ['without an owner', 'max(troupe_shards_unowned)'],
          ['quarantined', 'sum(troupe_shards_quarantined)'],
        ],
      },
      {
        title: 'Take-overs in 5 minutes',
        unit: 'short',
        series: [
          ['{{reason}}', 'sum by (reason) (increase(troupe_shard_takeovers_total[5m]))'],
          ['failed', 'sum(increase(troupe_shard_takeovers_failed_total[5m]))'],
        ],
      },
      {
        title: 'Warm copies of shards, and how far they are behind',
        unit: 'short',
        series: [
          ['{{instance}}', 'sum by (instance) (troupe_shard_copies)'],
          ['{{instance}}: records behind', 'sum by (instance) (troupe_shard_copy_lag)'],
        ],
      },
      {
        title: 'Messages that wait',
        unit: 'short',
        series: [['{{instance}}', 'sum by (instance) (troupe_mailbox_lag)']],
      },
      {
        title: 'Turns per second',
        unit: 'reqps',
        series: [['{{instance}}', 'sum by (instance) (troupe_turns_per_second)']],
      },
      {
        title: 'Effects that run',
        unit: 'short',
        series: [['{{instance}}', 'sum by (instance) (troupe_effects_running)']],
      },
      {
        title: 'Actors in memory',
        unit: 'short',
        series: [['{{instance}}', 'sum by (instance) (troupe_actors_resident)']],
      },
      {
        title: 'Overdue snapshot',
        unit: 's',
        series: [['{{instance}}', 'max by (instance) (troupe_snapshot_overdue_seconds)']],
      },
    ],
  },
  {
    title: 'What waits for an operator',
    panels: [
      {
        title: 'Unknown effects',
        unit: 'short',
        series: [['effects', 'max(troupe_effects_unknown)']],
        now: true,
        limit: 1,
      },
      {
        title: 'Open dead letters',
        unit: 'short',
        series: [['letters', 'max(troupe_dead_letters_open)']],
        now: true,
        limit: 1,
      },
      {
        title: 'Overdue retention',
        unit: 's',
        series: [['overdue', 'max(troupe_retention_overdue_seconds)']],
        now: true,
        limit: 6 * 3_600,
      },
      {
        title: 'Next program without a key',
        unit: 'dateTimeFromNow',
        series: [['key', 'min(troupe_key_expiry_timestamp_seconds) * 1000']],
        now: true,
      },
    ],
  },
  {
    title: 'Processes',
    panels: [
      {
        title: 'Event loop, busy share',
        unit: 'percentunit',
        series: [['{{instance}}', 'max by (instance) (troupe_event_loop_utilization)']],
      },
      {
        title: 'Event loop, lateness of 99 of 100',
        unit: 's',
        series: [['{{instance}}', 'max by (instance) (nodejs_eventloop_lag_p99_seconds)']],
      },
      {
        title: 'Memory',
        unit: 'bytes',
        series: [['{{instance}}', 'max by (instance) (process_resident_memory_bytes)']],
      },
      {
        title: 'Processor cores in use',
        unit: 'short',
        series: [['{{instance}}', rate('instance', 'process_cpu_seconds_total')]],
      },
      {
        title: 'Free share of the disk',
        unit: 'percentunit',
        series: [
          ['{{instance}}', 'min by (instance) (troupe_disk_free_bytes / troupe_disk_size_bytes)'],
        ],
      },
      {
        title: 'JetStream',
        unit: 'bytes',
        series: [
          ['used', 'max(troupe_jetstream_used_bytes)'],
          ['limit', 'max(troupe_jetstream_limit_bytes)'],
        ],
      },
    ],
  },
];

const WIDTH = 24;
const HEIGHT = { row: 1, now: 5, graph: 8 } as const;
const DATASOURCE = { type: 'prometheus', uid: 'troupe-prometheus' } as const;

/** The model that Grafana imports. */
export function dashboard(): object {
  return {
    uid: 'troupe',
    title: 'troupe',
    tags: ['troupe'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    timezone: 'browser',
    graphTooltip: 1,
    annotations: { list: [] },
    templating: { list: [] },
    panels: placed(),
  };
}

function placed(): readonly object[] {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: own } of ROWS) {
    const id = panels.length + 1;
    const gridPos = { x: 0, y, w: WIDTH, h: HEIGHT.row };
    panels.push({ id, type: 'row', title, collapsed: false, gridPos, panels: [] });
    y += HEIGHT.row;
    const columns = own[0]?.now ? own.length : 2;
    const h = own[0]?.now ? HEIGHT.now : HEIGHT.graph;
    for (const [at, panel] of own.entries()) {
      const w = Math.floor(WIDTH / columns);
      const x = (at % columns) * w;
      panels.push(
        panelOf(panel, panels.length + 1, { x, y: y + Math.floor(at / columns) * h, w, h }),
      );
    }
    y += Math.ceil(own.length / columns) * h;
  }
  return panels;
}

function panelOf(panel: Panel, id: number, gridPos: object): object {
  const { title, unit, series, now, limit, exemplars } = panel;
  const steps = [
    { color: 'green', value: null },
    ...(limit === undefined ? [] : [{ color: 'red', value: limit }]),
  ];
  return {
    id,
    type: now ? 'stat' : 'timeseries',
    title,
    gridPos,
    datasource: DATASOURCE,
    fieldConfig: {
      defaults: {
        unit,
        min: unit === 'dateTimeFromNow' ? null : 0,
        thresholds: { mode: 'absolute', steps },
      },
      overrides: [],
    },
    options: now
      ? { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'value', graphMode: 'area' }
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
    targets: series.map(([legendFormat, expr], at) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + at),
      datasource: DATASOURCE,
      expr,
      legendFormat,
      ...(exemplars ? { exemplar: true } : {}),
    })),
  };
}
