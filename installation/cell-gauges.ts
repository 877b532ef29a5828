/**
 * Gauges about the whole cell and about the machine of this process, for alarms: what waits for an
 * operator, how late tasks end, which keys expire, and how full disks and JetStream are. Gateways
 * and processes without a cluster report the cell, because they can read every row.
 *
 * Each is read at a scrape, at most once a minute, so that scraping costs little.
 */
import { statfs } from 'node:fs/promises';
import { lateP95 } from '../operations/slo-report.ts';
import { auditDay, type AuditDayRow, AUDITS_INDEX } from '../protocols/audit.ts';
import { DEFAULT_TENANT } from '../protocols/address.ts';
import {
  isGoodKey,
  keyEnd,
  type KeyRow,
  KEYS_INDEX,
  KEYS_MAX,
} from '../protocols/security/keyring.ts';
import type { Config } from '../runtime/config/index.ts';
import type { Metrics, NatsPorts, System } from '../runtime/index.ts';

const EVERY_MS = 60_000;
const DAY_MS = 86_400_000;
/** The rows of tasks are many, so they are read less often, and a sample of them. */
const LATE = { everyMs: 300_000, rowsMax: 20_000, hours: 1 } as const;

type Gauges = Pick<Metrics, 'gauge'>;

export function watchCell(
  {
    metrics,
    tenants,
  }: { readonly metrics: Gauges; readonly tenants: ReadonlyMap<string, unknown> },
  system: Pick<System, 'unknownEffects' | 'deadLetters' | 'index'>,
): void {
  const add = (name: string, help: string, read: () => number | Promise<number>) =>
    metrics.gauge(name, help, read, EVERY_MS);
  const names = [...new Set([DEFAULT_TENANT, ...tenants.keys()])];
  add('troupe_effects_unknown', 'effects of the cell with an unknown outcome', () => {
    return system.unknownEffects().length;
  });
  add('troupe_effects_unknown_oldest_seconds', 'age of the oldest of them; 0 without any', () =>
    oldestSeconds(system.unknownEffects()),
  );
  add('troupe_dead_letters_open', 'dead letters of the cell without a decision, up to 1,000', () =>
    openLetters(system),
  );
  add('troupe_key_expiry_timestamp_seconds', 'when the next program loses its last key', () =>
    nextKeyExpiry(system, names),
  );
  add('troupe_audit_records', 'records of the audit of the last two days, of all tenants', () =>
    recentAuditRecords(system, names),
  );
  metrics.gauge(
    'troupe_tasks_late_p95_seconds',
    'end of 95 of 100 tasks of the last hour after their ETA, of the worst tenant',
    () => worstLateness(system, names),
    LATE.everyMs,
  );
}

const oldestSeconds = (effects: readonly { readonly at: number }[]): number =>
  effects.length === 0 ? 0 : (Date.now() - Math.min(...effects.map(({ at }) => at))) / 1_000;

const openLetters = async ({ deadLetters }: Pick<System, 'deadLetters'>): Promise<number> =>
  (await deadLetters.list()).length;

/** Two days, so that the count of the last hours does not fall at midnight. */
function recentAuditRecords({ index }: Pick<System, 'index'>, tenants: readonly string[]): number {
  const now = Date.now();
  const days = [now, now - DAY_MS].map(auditDay);
  const rows = tenants.flatMap((tenant) =>
    days.map((day) => index.get<AuditDayRow>(AUDITS_INDEX, tenant, day)),
  );
  return rows.reduce((sum, row) => sum + (row?.records ?? 0), 0);
}

/** A program that has a newer key is ready for the end of the older one. NaN without any key. */
function nextKeyExpiry({ index }: Pick<System, 'index'>, tenants: readonly string[]): number {
  const now = Date.now();
  const last = new Map<string, number>();
  for (const tenant of tenants)
    for (const { value: row } of index.list<KeyRow>(KEYS_INDEX, tenant, { limit: KEYS_MAX })) {
      if (!isGoodKey(row, now)) continue;
      const program = `${tenant}\n${row.sub}`;
      last.set(program, Math.max(last.get(program) ?? 0, keyEnd(row)));
    }
  return last.size === 0 ? Number.NaN : Math.min(...last.values()) / 1_000;
}

/** NaN without any task. */
async function worstLateness(
  { index }: Pick<System, 'index'>,
  tenants: readonly string[],
): Promise<number> {
  const { rowsMax, hours } = LATE;
  let worst = Number.NaN;
  for (const tenant of tenants) {
    const late = await lateP95({ index, tenant, hours, rowsMax, now: Date.now() });
    if (late !== undefined && !(late <= worst)) worst = late;
  }
  return worst;
}

/** The disk of the data folder. */
export function watchMachine(metrics: Gauges, { home }: Pick<Config, 'home'>): void {
  const disk = (name: string, help: string, blocks: 'blocks' | 'bavail') =>
    metrics.gauge(name, help, async () => {
      const found = await statfs(home);
      return found[blocks] * found.bsize;
    });
  disk('troupe_disk_size_bytes', 'size of the file system with the data folder', 'blocks');
  disk('troupe_disk_free_bytes', 'what is free of it', 'bavail');
}

/** @param limitBytes of the servers, which the account of this process may not know */
export function watchStorage(
  metrics: Gauges,
  storage: NatsPorts['storage'],
  limitBytes = Number.NaN,
): void {
  metrics.gauge(
    'troupe_jetstream_used_bytes',
    'bytes that JetStream stores for the account of this process',
    async () => (await storage()).usedBytes,
    EVERY_MS,
  );
  metrics.gauge(
    'troupe_jetstream_limit_bytes',
    'bytes that it may store: of the account, else nats.storageBytes; NaN without either',
    async () => (await storage()).limitBytes ?? limitBytes,
    EVERY_MS,
  );
}
