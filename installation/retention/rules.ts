/** Rules: the ages of a tenant as the configuration has them, and the budget. Pure. */
import { DEFAULT_TENANT } from '../../protocols/address.ts';
import {
  RETENTION_KINDS,
  type RetentionBudget,
  type RetentionKind,
  type RetentionPlan,
} from '../../protocols/retention.ts';
import type { Config } from '../../runtime/config/index.ts';

type Retention = Pick<Config, 'retention' | 'tenants' | 'a2a'>;

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
  y: 365 * 86_400_000,
};
const HOUR_MS = 3_600_000;
/** How long resolved dead letters are kept without an age. */
export const RESOLVED_MS = 30 * 86_400_000;

/** Milliseconds of an age, as `90d`. */
export const ageMs = (age: string): number => Number(age.slice(0, -1)) * UNIT_MS[age.at(-1)!]!;

const ownOf = ({ tenants }: Retention, tenant: string) =>
  Object.hasOwn(tenants, tenant) ? tenants[tenant]?.retention : undefined;

/**
 * As configured, as `90d` or `keep`; undefined: neither the tenant nor the installation has one.
 */
export const configuredAge = (
  config: Retention,
  tenant: string,
  kind: RetentionKind,
): string | undefined => ownOf(config, tenant)?.[kind] ?? config.retention[kind];

/** What holds: the age, with the defaults. */
export function ageOf(config: Retention, tenant: string, kind: RetentionKind): string {
  const { keepDays } = config.a2a.artifacts;
  const standard = kind === 'artifacts' && keepDays > 0 ? `${keepDays}d` : 'keep';
  return configuredAge(config, tenant, kind) ?? standard;
}

/** Kinds with something to remove. Of dead letters, resolved ones have an age by default. */
export const dueKinds = (config: Retention, tenant: string, now: number): RetentionPlan['kinds'] =>
  RETENTION_KINDS.flatMap((kind) => {
    const age = ageOf(config, tenant, kind);
    if (age !== 'keep') return [{ kind, before: now - ageMs(age) }];
    const isDefault = configuredAge(config, tenant, kind) === undefined;
    return kind === 'deadLetters' && isDefault ? [{ kind, before: now - RESOLVED_MS }] : [];
  });

/** Whether open dead letters have an age, too. */
export const removesOpenLetters = (config: Retention, tenant: string): boolean =>
  configuredAge(config, tenant, 'deadLetters') !== undefined;

export const tenantsOf = ({ tenants }: Pick<Config, 'tenants'>): readonly string[] => [
  ...new Set([DEFAULT_TENANT, ...Object.keys(tenants)]),
];

/** Summaries of turns are stored for all tenants together, so the longest age counts. */
export function summariesBefore(config: Retention, now: number): number | undefined {
  const ages = tenantsOf(config).map((tenant) => ageOf(config, tenant, 'history'));
  return ages.includes('keep') ? undefined : now - Math.max(...ages.map(ageMs));
}

export const budgetOf = ({ retention }: Retention): RetentionBudget => ({
  itemsPerTurn: retention.itemsPerTurn,
  itemsPerHour: retention.itemsPerHour,
  bytesPerHour: retention.bytesPerHour,
});
export const everyMs = ({ retention }: Pick<Config, 'retention'>): number =>
  Math.round(retention.everyHours * HOUR_MS);
