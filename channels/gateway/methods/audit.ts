/** `audit.actions.list`: the audit records of a day, newest first. */
import type { TenantScope } from '../tenant/tenant-scope.ts';
import {
  auditAddress,
  type AuditDayRow,
  type AuditRecord,
  AUDITS_INDEX,
} from '../../../protocols/audit.ts';
import type {
  AuditActionsListParams,
  AuditActionsListResult,
} from '../../../protocols/gateway/index.ts';
import { type MethodTable, published } from './method.ts';
import type { Request } from './request.ts';

const LIMIT = 100;
/** Number of days that an answer lists, newest first. */
const DAYS_MAX = 1_000;
/** Number of records that one request reads. */
const LOOKED_AT_MAX = 5_000;

const list = async (
  { context }: Request<TenantScope>,
  { day: asked, before, limit = LIMIT, who, action }: AuditActionsListParams,
): Promise<AuditActionsListResult> => {
  const { system, tenant } = context;
  const days = system.index
    .list<AuditDayRow>(AUDITS_INDEX, tenant, { limit: DAYS_MAX })
    .map(({ value }) => value)
    .toSorted((a, b) => (a.day < b.day ? 1 : -1));
  const day = asked ?? days[0]?.day;
  if (day === undefined) return { days, records: [] };
  const actor = auditAddress(tenant, day);
  const end = before ?? (await system.transcripts.last(actor)) + 1;
  const from = Math.max(1, end - LOOKED_AT_MAX);
  const entries = end <= 1 ? [] : await system.transcripts.read(actor, { from, limit: end - from });
  const records: AuditActionsListResult['records'] = [];
  for (const { position, entry } of entries.toReversed()) {
    if (position >= end) continue;
    const { type: _, ...record } = entry as { type: string } & AuditRecord;
    if (who !== undefined && record.who !== who) continue;
    if (action !== undefined && !record.action.startsWith(action)) continue;
    records.push({ ...record, position });
    if (records.length === limit) break;
  }
  const oldest = records.length === limit ? records.at(-1)!.position : from;
  return { day, days, records, ...(oldest > 1 ? { nextBefore: oldest } : {}) };
};

export const auditTable: MethodTable<TenantScope> = [published('audit.actions.list', list)];
