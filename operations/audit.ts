/** The audit of a tenant: who did what at the entry points of the gateways. */
import { Type } from '@sinclair/typebox';
import {
  AUDIT_DAY,
  auditAddress,
  type AuditDayRow,
  type AuditRecord,
  AUDITS_INDEX,
} from '../protocols/audit.ts';
import type { AuditActionsListParams, AuditActionsListResult } from '../protocols/gateway/audit.ts';
import type { System } from '../runtime/index.ts';
import { defineOperation, ObjectOf, type Resource } from './operation.ts';
import { isoTime, table } from './text.ts';

const LIMIT = 100;
const LIMIT_MAX = 500;
/** Number of days that an answer lists, newest first. */
const DAYS_MAX = 1_000;
/** Number of records that one request reads. */
const LOOKED_AT_MAX = 5_000;

/** The records of a day, newest first; default the newest day with records. */
export async function listAudit(
  {
    system,
    tenant,
  }: { readonly system: Pick<System, 'index' | 'transcripts'>; readonly tenant: string },
  { day: asked, before, limit = LIMIT, who, action }: AuditActionsListParams,
): Promise<AuditActionsListResult> {
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
}

const list = defineOperation({
  name: 'audit',
  scope: 'tenant',
  gatewayScope: 'operator.admin',
  summary: 'Show who did what: connects, approvals, settings, deletions, messages',
  params: Type.Object({
    day: Type.Optional(
      Type.String({
        pattern: AUDIT_DAY.source,
        description: 'A UTC day, as 2026-05-04; default: the newest day with records',
      }),
    ),
    who: Type.Optional(
      Type.String({ minLength: 1, description: 'Only records of this principal' }),
    ),
    action: Type.Optional(
      Type.String({ minLength: 1, description: 'Only actions that start with this, as device.' }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMIT_MAX,
        description: `Maximum number of records, at most ${LIMIT_MAX}; default ${LIMIT}`,
      }),
    ),
    before: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Only records before this position of the day' }),
    ),
  }),
  result: ObjectOf<AuditActionsListResult>(),
  errors: ['INVALID_ARGUMENT', 'UNAVAILABLE'],
  http: {
    method: 'GET',
    path: '/v1/audit',
    operationId: 'listAudit',
    responses: { 200: 'The records of the day, newest first; older ones before `nextBefore`' },
  },
  cli: {
    command: 'audit',
    connection: 'websocket',
    flags: {
      day: '--day <date>',
      who: '--who <name>',
      action: '--action <prefix>',
      before: '--before <position>',
    },
    examples: ['troupe audit', 'troupe audit --action device. --json'],
    print: ({ records }) => (records.length === 0 ? 'no records\n' : auditTable(records)),
  },
  run: ({ system, tenant }, params) => listAudit({ system, tenant }, params),
});

type ListedRecord = AuditActionsListResult['records'][number];

/**
 * Sorted by time, the newest last. Records are stored in another order: a record that is written
 * before its action can overtake records that are batched for up to a second. A device is shown by
 * the first 12 digits of its id, as in other lists.
 */
export function auditTable(records: readonly ListedRecord[]): string {
  const inTime = records.toReversed().toSorted((one, other) => one.at - other.at);
  return table(['at', 'who', 'by', 'from', 'did', 'to', 'outcome'], inTime.map(cells));
}

const cells = (record: ListedRecord): string[] =>
  [
    isoTime(record.at),
    record.who,
    record.by,
    record.ip ?? record.deviceId ?? '',
    record.action,
    Object.entries(record.on ?? {})
      .map(([name, value]) => `${name}=${value}`)
      .join(' '),
    record.code === undefined ? record.outcome : `${record.outcome}: ${record.code}`,
  ].map(withShortDevices);

const withShortDevices = (text: string): string =>
  text.replace(/\b([0-9a-f]{12})[0-9a-f]{52}\b/g, '$1');

export const audit: Resource = { name: 'audit', operations: [list] };
