/** `troupe audit`: who did what through the gateways' doors. */
import type { AuditActionsListResult } from '../protocols/gateway/index.ts';
import { exitCodes } from './exit.ts';
import { type ClientOptions, withGateway } from './options.ts';
import { printJson, table } from './output.ts';

export type AuditOptions = ClientOptions & {
  readonly day?: string;
  readonly who?: string;
  readonly action?: string;
  readonly limit?: number;
};

export async function audit(options: AuditOptions): Promise<number> {
  const { day, who, action, limit } = options;
  const result = await withGateway(options, (client) =>
    client.request('audit.actions.list', {
      ...(day === undefined ? {} : { day }),
      ...(who === undefined ? {} : { who }),
      ...(action === undefined ? {} : { action }),
      ...(limit === undefined ? {} : { limit }),
    }),
  );
  if (options.json) printJson(result);
  else if (result.records.length === 0) process.stdout.write('nothing was noted\n');
  else {
    const head = ['at', 'who', 'by', 'from', 'did', 'to', 'outcome'];
    process.stdout.write(table(head, result.records.toReversed().map(cells)));
  }
  return exitCodes.ok;
}

const cells = (record: AuditActionsListResult['records'][number]): string[] => [
  new Date(record.at).toISOString(),
  record.who,
  record.by,
  record.ip ?? record.deviceId?.slice(0, 12) ?? '',
  record.action,
  Object.entries(record.on ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join(' '),
  record.code === undefined ? record.outcome : `${record.outcome}: ${record.code}`,
];
