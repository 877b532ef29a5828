/**
 * Retention: how long data is kept by tenant and kind, and sweeps that remove what is older. The
 * sweeper of the tenant does the work; a dry run only counts, and activates no actor.
 */
import { Type } from '@sinclair/typebox';
import { LEGAL_HOLDS_INDEX } from '../protocols/erasure.ts';
import {
  RETENTION_INDEX,
  RETENTION_KEY,
  RETENTION_KINDS,
  type RetentionAge,
  retentionAddress,
  type RetentionCounts,
  type RetentionRow,
  type RetentionSweep,
} from '../protocols/retention.ts';
import { askActor } from './ask-actor.ts';
import { defineOperation, ObjectOf, type OperationContext, type Resource } from './operation.ts';
import { isoTime, table } from './text.ts';

const SWEEP_MS = 120_000;
const HOLDS_MAX = 1_000;

type TenantRetention = {
  readonly tenant: string;
  readonly kinds: readonly RetentionAge[];
  /** legal holds of the tenant, up to 1,000 */
  readonly holds: number;
  /** absent until the first start with retention */
  readonly sweeper?: RetentionRow;
};

function retentionOf(
  { system, retention: { ages } }: OperationContext,
  tenant: string,
): TenantRetention {
  const sweeper = system.index.get<RetentionRow>(RETENTION_INDEX, tenant, RETENTION_KEY);
  const holds = system.index.list(LEGAL_HOLDS_INDEX, tenant, { limit: HOLDS_MAX }).length;
  return { tenant, kinds: ages(tenant), holds, ...(sweeper && { sweeper }) };
}

const Listed = Type.Object({ tenants: Type.Array(ObjectOf<TenantRetention>()) });

const list = defineOperation({
  name: 'retention.list',
  scope: 'tenant',
  gatewayScope: 'operator.admin',
  summary: 'Show how long each kind of data of a tenant is kept, the last sweep and the next',
  params: Type.Object({}),
  result: Listed,
  errors: [],
  http: {
    method: 'GET',
    path: '/v1/retention',
    operationId: 'getRetention',
    responses: { 200: 'The ages in effect, and the sweeper' },
  },
  cli: {
    command: 'retention list',
    connection: 'websocket',
    examples: ['troupe retention', 'troupe retention --json'],
    print: ({ tenants }) => listText(tenants),
  },
  run: (context) => ({ tenants: [retentionOf(context, context.tenant)] }),
});

const all = defineOperation({
  name: 'retention.all',
  scope: 'installation',
  gatewayScope: 'operator.admin',
  summary: 'Show the same for every tenant of the configuration',
  params: Type.Object({}),
  result: Listed,
  errors: [],
  http: {
    method: 'GET',
    path: '/v1/retention/all',
    operationId: 'getRetentionOfAll',
    responses: { 200: 'By tenant' },
  },
  cli: {
    command: 'retention all',
    connection: 'websocket',
    examples: ['troupe retention all'],
    print: ({ tenants }) => listText(tenants),
  },
  run: (context) => ({
    tenants: context.retention.tenants().map((tenant) => retentionOf(context, tenant)),
  }),
});

const sweep = defineOperation({
  name: 'retention.sweep',
  scope: 'tenant',
  summary: 'Remove what is older than its age now, or only count it',
  params: Type.Object({
    dryRun: Type.Optional(Type.Boolean({ description: 'Only count what would be removed' })),
  }),
  result: ObjectOf<Partial<RetentionRow> & SweepCounts>(),
  errors: ['UNAVAILABLE', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/retention/sweep',
    operationId: 'sweepRetention',
    responses: { 200: 'What was removed, by kind; of a dry run, what would be' },
  },
  cli: {
    command: 'retention sweep',
    connection: 'websocket',
    flags: { dryRun: '--dry-run' },
    waitMs: () => SWEEP_MS + 10_000,
    examples: ['troupe retention sweep --dry-run', 'troupe retention sweep'],
    print: sweepText,
  },
  async run(context, { dryRun }) {
    const { tenant } = context;
    if (dryRun) {
      const { found, held } = await context.retention.plan(tenant);
      return { tenant, dryRun: true as const, counts: found, held };
    }
    const message: RetentionSweep = { type: 'retention.sweep', who: context.caller.sub };
    const row = await askActor<RetentionRow>(context, retentionAddress(tenant), message, {
      name: `the sweeper of ${tenant}`,
      timeoutMs: SWEEP_MS,
      timedOut: 'the sweep is still under way: look at it with `troupe retention`',
    });
    return { ...row, tenant, counts: row.sweep!.removed, held: row.sweep!.held };
  },
});

type SweepCounts = {
  readonly tenant: string;
  readonly counts: RetentionCounts;
  readonly held: number;
  readonly dryRun?: true;
};

function sweepText({
  tenant,
  counts,
  held,
  dryRun,
  state,
  sweep: swept,
}: Partial<RetentionRow> & SweepCounts): string {
  const rows = RETENTION_KINDS.map((kind) => [tenant, kind, `${counts[kind]}`]);
  const lines = [table(['tenant', 'kind', dryRun ? 'would remove' : 'removed'], rows)];
  if (held > 0) lines.push(`${held} kept by legal holds\n`);
  if (swept && swept.skipped > 0) lines.push(`${swept.skipped} stay: used again or held\n`);
  for (const [kind, { code, message }] of Object.entries(swept?.failed ?? {}))
    lines.push(`${kind}: ${code}: ${message}\n`);
  if (!dryRun && state !== 'waiting')
    lines.push(`the sweep is ${state}, and continues. Next: troupe retention\n`);
  return lines.join('');
}

/** What holds although no age is configured. */
const STANDARD: Readonly<Partial<Record<RetentionAge['kind'], string>>> = {
  deadLetters: 'open: keep, resolved: 30d',
  history: 'runtime.history',
};

function listText(tenants: readonly TenantRetention[]): string {
  const rows = tenants.flatMap(({ tenant, kinds, sweeper }) =>
    kinds.map(({ kind, age, isDefault }) => [
      tenant,
      kind,
      isDefault ? `${STANDARD[kind] ?? age} (default)` : age,
      `${sweeper?.sweep?.removed[kind] ?? ''}`,
      `${sweeper?.removed[kind] ?? ''}`,
    ]),
  );
  const head = ['tenant', 'kind', 'kept', 'last sweep', 'removed in all'];
  return table(head, rows) + tenants.map(sweeperText).join('');
}

function sweeperText({ tenant, holds, sweeper }: TenantRetention): string {
  const held = holds > 0 ? `, ${holds} legal holds` : '';
  if (sweeper === undefined) return `${tenant}: no sweep yet${held}\n`;
  const { state, dueAt, sweep: last, error } = sweeper;
  const ended = last?.endedAt === undefined ? '' : `, ended ${isoTime(last.endedAt)}`;
  return (
    `${tenant}: ${state}${held}; ` +
    (last ? `last sweep ${isoTime(last.startedAt)} by ${last.who}${ended}` : 'no sweep yet') +
    `; next ${isoTime(dueAt)}\n` +
    (error ? `${error.code}: ${error.message}\n` : '')
  );
}

export const retention: Resource = { name: 'retention', operations: [list, all, sweep] };
