/** `troupe audit`: lists who did what at the entry points of the gateways. */
import { defined } from '../protocols/defined.ts';
import type { AuditActionsListResult } from '../protocols/gateway/index.ts';
import { exitCodes } from './exit.ts';
import { type ClientOptions, withGateway } from './options.ts';
import { table } from '../operations/text.ts';
import { printJson } from './output.ts';

export type AuditOptions = ClientOptions & {
  readonly day?: string;
  readonly who?: string;
  readonly action?: string;
  readonly limit?: number;
};

type AuditRecord = AuditActionsListResult['records'][number];

export async function audit(options: AuditOptions): Promise<number> {
  const { day, who, action, limit } = options;
  const result = await withGateway(options, (client) =>
    client.request('audit.actions.list', {
      ...defined({ day, who, action, limit }),
    }),
  );
  if (options.json) printJson(result);
  else if (result.records.length === 0) process.stdout.write('no records\n');
  else process.stdout.write(auditTable(result.records));
  return exitCodes.ok;
}

/**
 * Sorted by time, the newest last. Records are stored in another order: a record that is written
 * before its action can overtake records that are batched for up to a second. A device is shown by
 * the first 12 digits of its id, as in other lists.
 */
export function auditTable(records: readonly AuditRecord[]): string {
  const inTime = records.toReversed().toSorted((one, other) => one.at - other.at);
  return table(['at', 'who', 'by', 'from', 'did', 'to', 'outcome'], inTime.map(cells));
}

const cells = (record: AuditRecord): string[] =>
  [
    new Date(record.at).toISOString(),
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
