/**
 * The alarms of deploy/prometheus-rules.yml. docs/alarms.md has a section for each: what it means,
 * where to look first, and what to do.
 */
export type Alarm = {
  /** also the heading of its section */
  readonly alert: string;
  readonly expr: string;
  /** how long the expression holds before the alarm is raised; default: at once */
  readonly for?: string;
  /** critical: users are affected now, or data is at risk */
  readonly severity: 'critical' | 'warning';
  readonly summary: string;
};

/** The objectives of `troupe slo`. */
const objectives: readonly Alarm[] = [
  {
    alert: 'AcknowledgedLate',
    expr: 'histogram_quantile(0.95, sum by (le) (rate(troupe_ack_ms_bucket[10m]))) > 1000',
    for: '10m',
    severity: 'critical',
    summary: 'one envelope in twenty waits over 1 s to be acknowledged',
  },
  {
    alert: 'TasksLate',
    expr: 'max(troupe_tasks_late_p95_seconds) > 60',
    for: '15m',
    severity: 'warning',
    summary: 'one task in twenty ends over 60 s after its ETA',
  },
  {
    alert: 'DeadLetterShare',
    expr:
      'sum(increase(a2a_dlq_total{tenant!="conformance"}[1d])) / ' +
      'sum(increase(a2a_requests_total{status!="REFUSED"}[1d])) > 0.001',
    for: '10m',
    severity: 'warning',
    summary: 'more than one task in a thousand was given up today',
  },
  {
    alert: 'DeadLetters',
    expr: 'sum(increase(a2a_dlq_total{tenant!="conformance"}[1h])) > 0',
    severity: 'warning',
    summary: 'tasks were given up: troupe dlq list',
  },
];

const shards: readonly Alarm[] = [
  {
    alert: 'ShardQuarantined',
    expr: 'sum(troupe_shards_quarantined) > 0',
    for: '2m',
    severity: 'critical',
    summary: 'a shard cannot be served: troupe cluster',
  },
  {
    alert: 'ShardWithoutOwner',
    expr: 'max(troupe_shards_unowned) > 0',
    for: '30s',
    severity: 'critical',
    summary: 'a shard has had no owner for 30 s: its actors do nothing',
  },
  {
    alert: 'ShardsMoveOften',
    expr:
      'sum(increase(troupe_shard_takeovers_total{reason="unowned"}[30m])) > ' +
      '2 * sum(troupe_shards_owned)',
    for: '5m',
    severity: 'warning',
    summary: 'every shard lost its owner twice in 30 minutes: workers die or are cut off',
  },
  {
    alert: 'ShardTakeFails',
    expr: 'sum(increase(troupe_shard_takeovers_failed_total[10m])) > 10',
    for: '5m',
    severity: 'warning',
    summary: 'workers cannot take over shards',
  },
  {
    alert: 'MailWaits',
    expr: 'sum(troupe_mailbox_lag) > 10000',
    for: '10m',
    severity: 'warning',
    summary: 'more messages come than are processed: add workers',
  },
  {
    alert: 'SnapshotOverdue',
    expr: 'max(troupe_snapshot_overdue_seconds) > 900',
    severity: 'warning',
    summary: 'a snapshot has been due for 15 minutes: journals grow, and take-overs take longer',
  },
];

const decisions: readonly Alarm[] = [
  {
    alert: 'EffectsUnknown',
    expr: 'max(troupe_effects_unknown_oldest_seconds) > 3600',
    severity: 'warning',
    summary: 'an effect with an unknown outcome has waited for an operator for an hour',
  },
  {
    alert: 'DeadLettersOpen',
    expr: 'max(troupe_dead_letters_open) > 0',
    for: '1d',
    severity: 'warning',
    summary: 'a dead letter has waited for a decision for a day: troupe dlq list',
  },
  {
    alert: 'KeyExpires',
    expr: 'min(troupe_key_expiry_timestamp_seconds) - time() < 14 * 86400',
    severity: 'warning',
    summary: 'the only key of a program expires within two weeks: troupe keys list',
  },
  {
    alert: 'CertificateExpires',
    expr: 'min(troupe_certificate_expiry_timestamp_seconds) - time() < 14 * 86400 or min(troupe_gateway_certificate_expiry_timestamp_seconds) - time() < 14 * 86400',
    severity: 'warning',
    summary: 'a certificate of the gateway or for NATS expires within two weeks',
  },
  {
    alert: 'CertificateUnusable',
    expr: 'max by (job, instance) (troupe_certificate_fault) > 0 or max by (job, instance) (troupe_gateway_certificate_fault) > 0',
    for: '1m',
    severity: 'critical',
    summary:
      'the certificate files of {{ $labels.instance }} cannot be used: the former ones are in use until it restarts or reconnects',
  },
  {
    alert: 'AuditGrows',
    expr: 'max(delta(troupe_audit_records[1h])) > 20000',
    for: '10m',
    severity: 'warning',
    summary: 'the audit grew by over 20,000 records in an hour',
  },
  {
    alert: 'RetentionOverdue',
    expr: 'max(troupe_retention_overdue_seconds) > 6 * 3600',
    for: '10m',
    severity: 'warning',
    summary: 'data past its age has waited for its removal for over 6 hours: troupe retention',
  },
];

const machines: readonly Alarm[] = [
  {
    alert: 'EventLoopLate',
    expr: 'max by (job, instance) (nodejs_eventloop_lag_p99_seconds) > 0.25',
    for: '5m',
    severity: 'warning',
    summary: 'the event loop of {{ $labels.instance }} answers over 250 ms late',
  },
  {
    alert: 'DiskFills',
    expr: 'min by (job, instance) (troupe_disk_free_bytes / troupe_disk_size_bytes) < 0.2',
    for: '10m',
    severity: 'warning',
    summary: 'under 20 % of the disk with the data of {{ $labels.instance }} is free',
  },
  {
    alert: 'DiskReadOnly',
    expr: 'max by (job, instance) (troupe_disk_state) >= 2',
    severity: 'critical',
    summary: 'the disk of {{ $labels.instance }} is nearly full: it accepts no new work',
  },
  {
    alert: 'JetStreamFills',
    expr: 'max(troupe_jetstream_used_bytes / troupe_jetstream_limit_bytes) > 0.8',
    for: '10m',
    severity: 'critical',
    summary: 'JetStream stores over 80 % of what it may; when it is full, nothing is accepted',
  },
  {
    alert: 'ClockSetBack',
    expr: 'max by (job, instance) (troupe_clock_ahead_seconds) > 5',
    for: '5m',
    severity: 'warning',
    summary: 'the clock of {{ $labels.instance }} was set back: its timers are late',
  },
  {
    alert: 'ClockJumped',
    expr: 'max by (job, instance) (increase(troupe_clock_jumps[15m])) > 0',
    severity: 'warning',
    summary: 'the clock of {{ $labels.instance }} was set by over 2 s',
  },
  {
    alert: 'ClockOff',
    expr: 'max by (job, instance) (abs(troupe_clock_skew_seconds)) > 30',
    for: '5m',
    severity: 'warning',
    summary: 'the clock of {{ $labels.instance }} differs by over 30 s from that of the log',
  },
  {
    alert: 'BackupOld',
    expr: 'max(min by (cell) (troupe_backup_age_seconds) < +Inf) > 26 * 3600',
    severity: 'critical',
    summary: 'the last verified backup is over 26 hours old',
  },
  {
    alert: 'BackupNone',
    expr: 'max(min by (cell) (troupe_backup_age_seconds)) == +Inf',
    for: '1d',
    severity: 'warning',
    summary: 'an installation has no verified backup',
  },
  {
    alert: 'ScrapeFails',
    expr: 'up{job=~"troupe-.+"} == 0',
    for: '2m',
    severity: 'warning',
    summary: '{{ $labels.instance }} does not answer Prometheus',
  },
  {
    alert: 'GatewayMissing',
    expr: 'absent(up{job="troupe-gateway"} == 1)',
    for: '2m',
    severity: 'critical',
    summary: 'no gateway answers Prometheus',
  },
  {
    alert: 'WorkerMissing',
    expr: 'absent(up{job="troupe-worker"} == 1)',
    for: '2m',
    severity: 'critical',
    summary: 'no worker answers Prometheus',
  },
];

export const ALARMS: readonly Alarm[] = [...objectives, ...shards, ...decisions, ...machines];
