/**
 * What the effects of a sweeper do, and its start. A dry run is the plan of a sweep: both call
 * `pick`, so they count the same.
 */
import { errorData } from '../../protocols/errors.ts';
import {
  NO_ITEMS,
  RETENTION_KINDS,
  type RetentionAge,
  type RetentionConfigure,
  type RetentionEffects,
  type RetentionKind,
  type RetentionPlan,
  retentionAddress,
} from '../../protocols/retention.ts';
import { SYSTEM_PRINCIPAL } from '../../protocols/security/principals.ts';
import type { Config } from '../../runtime/config/index.ts';
import type { Blobs } from '../../runtime/blobs/blobs.ts';
import type { Artifacts, System } from '../../runtime/index.ts';
import type { OperationServices } from '../../operations/operation.ts';
import type { LiveConfig } from '../live/live-config.ts';
import { artifacts } from './artifacts.ts';
import { audit } from './audit.ts';
import { deadLetters } from './dead-letters.ts';
import { history } from './history.ts';
import { Holds } from './holds.ts';
import type { KindParts, KindSweep } from './kind.ts';
import { memoryIndex } from './memory-index.ts';
import { ageOf, budgetOf, configuredAge, dueKinds, everyMs, tenantsOf } from './rules.ts';
import { transcripts } from './transcripts.ts';

const KINDS: Readonly<Record<RetentionKind, KindSweep>> = {
  transcripts,
  audit,
  artifacts,
  deadLetters,
  history,
  memoryIndex,
};
/** Items that a plan looks for at once. */
const PLAN_PAGE = 1_000;
/** Of a dry run. */
const PLAN_MS = 110_000;

export type RetentionParts = {
  readonly processServices: {
    readonly live: Pick<LiveConfig, 'now'>;
    readonly bucket: { readonly value: Promise<Artifacts> };
    readonly blobs: { readonly value: Promise<Blobs> };
  };
};

/** The ages of a tenant, in the order of the kinds. */
const agesOf = (config: Config, tenant: string): readonly RetentionAge[] =>
  RETENTION_KINDS.map((kind) => ({
    kind,
    age: ageOf(config, tenant, kind),
    isDefault: configuredAge(config, tenant, kind) === undefined,
  }));

export function retentionEffectsOf(
  opening: () => Promise<System>,
  { processServices: { live, bucket, blobs } }: RetentionParts,
): RetentionEffects {
  const partsOf = async (signal: AbortSignal): Promise<KindParts> => {
    const system = await opening();
    return {
      system,
      config: live.now,
      holds: new Holds(system),
      bucket: () => bucket.value,
      blobs: () => blobs.value,
      signal,
    };
  };
  return {
    async plan({ tenant, now }, signal) {
      const parts = await partsOf(signal);
      const kinds = dueKinds(parts.config, tenant, now);
      const counts = await countsOf(parts, tenant, kinds);
      return { kinds, budget: budgetOf(parts.config), ...counts };
    },
    async pick(input, signal) {
      const parts = await partsOf(signal);
      const picked = await KINDS[input.kind].pick(parts, input);
      return { ...picked, budget: budgetOf(parts.config) };
    },
    async remove({ tenant, kind, before, items }, signal) {
      const parts = await partsOf(signal);
      return { skipped: await KINDS[kind].remove(parts, { tenant, before }, items) };
    },
  };
}

/** What operations use of a process. */
export const retentionReads = (
  effects: Pick<RetentionEffects, 'plan'>,
  live: Pick<LiveConfig, 'now'>,
): OperationServices['retention'] => ({
  tenants: () => tenantsOf(live.now),
  ages: (tenant) => agesOf(live.now, tenant),
  plan: (tenant) => effects.plan({ tenant, now: Date.now() }, AbortSignal.timeout(PLAN_MS)),
});

async function countsOf(
  parts: KindParts,
  tenant: string,
  kinds: RetentionPlan['kinds'],
): Promise<Pick<RetentionPlan, 'found' | 'held'>> {
  const found: Record<RetentionKind, number> = { ...NO_ITEMS };
  let held = 0;
  for (const { kind, before } of kinds)
    for (let cursor: string | null = null; ; ) {
      const input = { tenant, kind, before, cursor, limit: PLAN_PAGE };
      const picked = await KINDS[kind].pick(parts, input);
      found[kind] += picked.items.length;
      held += picked.held;
      ({ cursor } = picked);
      if (cursor === null) break;
    }
  return { found, held };
}

type Starting = {
  readonly system: Pick<System, 'tell'>;
  readonly live: Pick<LiveConfig, 'now' | 'onChange'>;
  readonly log: { warn(message: string): void };
};

/**
 * Starts the sweepers of all tenants, and tells them when the configuration changes. Failures are
 * logged: the next start repeats it.
 */
export function startRetention({ system, live, log }: Starting): void {
  const configure = async ({ retention, tenants }: Config): Promise<void> => {
    const message: RetentionConfigure = {
      type: 'retention.configure',
      everyMs: everyMs({ retention }),
    };
    for (const tenant of tenantsOf({ tenants }))
      await system
        .tell(retentionAddress(tenant), message, { principal: SYSTEM_PRINCIPAL })
        .catch((error: unknown) => log.warn(`retention: ${errorData(error).message}`));
  };
  void configure(live.now);
  live.onChange('process', (now) => configure(now));
}
