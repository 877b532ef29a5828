/**
 * The check of `troupe doctor` on the growth of the audit, with the bound of alarm `AuditGrows`.
 */
import { DEFAULT_TENANT } from '../../protocols/address.ts';
import type { AuditDayRow } from '../../protocols/audit.ts';
import type { AuditActionsListResult } from '../../protocols/gateway/audit.ts';
import { runningGateway } from '../../installation/running-gateway.ts';
import type { Config } from '../../runtime/config/index.ts';
import { gatewayHttp } from '../client/gateway-http.ts';
import type { CommonOptions } from '../options.ts';
import { type Finding, ok, warn } from './doctor-finding.ts';

const CHECK = 'audit';
const PER_HOUR_MAX = 20_000;
const HOUR_MS = 3_600_000;

/** No finding if no gateway of this data folder runs here, or it does not answer. */
export async function* auditGrowth(
  { home, tenants }: Pick<Config, 'home' | 'tenants'>,
  options: CommonOptions,
): AsyncGenerator<Finding> {
  if (runningGateway(home) === undefined) return;
  const names = [...new Set([DEFAULT_TENANT, ...Object.keys(tenants)])];
  try {
    const get = await gatewayHttp(options);
    const lists = names.map((tenant) =>
      get<AuditActionsListResult>({
        method: 'GET',
        path: `/v1/audit?limit=1&tenant=${encodeURIComponent(tenant)}`,
      }),
    );
    yield growth((await Promise.all(lists)).map(({ days }) => days));
  } catch {
    // The check of the port says that the gateway does not answer.
  }
}

/** @param tenants the days of the audit of each tenant, newest first */
export function growth(tenants: readonly (readonly AuditDayRow[])[]): Finding {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
  const records = sum(tenants.flat().map((day) => day.records));
  const perHour = Math.round(sum(tenants.flatMap(([newest]) => (newest ? rateOf(newest) : []))));
  const text = `${records} records; on its newest day ${perHour} an hour`;
  return perHour <= PER_HOUR_MAX
    ? ok(CHECK, text)
    : warn(CHECK, text, 'troupe audit --limit 500; see docs/alarms.md, AuditGrows');
}

/** A day that has just begun counts as an hour. */
const rateOf = ({ records, firstAt, lastAt }: AuditDayRow): number =>
  records / Math.max(1, (lastAt - firstAt) / HOUR_MS);
