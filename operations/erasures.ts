/**
 * Erasures: what is stored of a session, a user or a tenant is removed permanently. The erasure
 * actor does the work; a dry run only counts, and activates no actor.
 */
import { Type } from '@sinclair/typebox';
import {
  ERASURE_KINDS,
  type ErasureCounts,
  erasureAddress,
  ERASURES_INDEX,
  type ErasureKind,
  type ErasureReach,
  type ErasureRequest,
  type ErasureRow,
  type ErasureTarget,
} from '../protocols/erasure.ts';
import { TroupeError } from '../protocols/errors.ts';
import { askActor } from './ask-actor.ts';
import { defineOperation, ObjectOf, type Resource } from './operation.ts';
import { isoTime, table } from './text.ts';

/** The survey reads every transcript of a user or a tenant. */
const SURVEY_MS = 120_000;
const LIST_MAX = 1_000;

export const TargetKind = Type.Union(
  ERASURE_KINDS.map((kind) => Type.Literal(kind)),
  { description: 'What the id names' },
);
export const TargetId = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'A session key, the id of a sender, or the tenant',
});

const Erased = ObjectOf<Partial<ErasureRow> & { counts: ErasureCounts; dryRun?: true }>();

/**
 * @throws TroupeError INVALID_ARGUMENT: the tenant is named twice, so that no other one is erased
 */
export function targetOf(
  tenant: string,
  { kind, id }: { readonly kind: ErasureTarget['kind']; readonly id: string },
): ErasureTarget {
  if (kind === 'tenant' && id !== tenant)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `the request is for tenant ${tenant}, but the id names ${id}: name the same tenant in both`,
    );
  return { tenant, kind, id };
}

const WHAT: Readonly<Record<ErasureKind, string>> = {
  session: 'Erase a session and its subagents: transcript, mail, files, history, rows',
  user: 'Erase all sessions that one user alone wrote in',
  tenant: 'Erase all sessions, files and devices of a tenant',
};
const EXAMPLES: Readonly<Record<ErasureKind, string>> = {
  session: 'troupe erase session agent:main:trial --dry-run',
  user: 'troupe erase user telegram:12345',
  tenant: 'troupe erase tenant acme --tenant acme',
};

const tenantQuestion = ({ id, dryRun }: { readonly id: string; readonly dryRun?: boolean }) =>
  dryRun
    ? undefined
    : `Erase all sessions, files and devices of the tenant ${id}, without a way back? ` +
      '(--dry-run counts them)';

const startOf = (kind: ErasureKind) =>
  defineOperation({
    name: `erasures.${kind}`,
    scope: 'tenant',
    summary: WHAT[kind],
    params: Type.Object({
      id: TargetId,
      dryRun: Type.Optional(Type.Boolean({ description: 'Only count what would be removed' })),
    }),
    result: Erased,
    errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'UNAVAILABLE', 'DEADLINE_EXCEEDED'],
    http: {
      method: 'POST',
      path: `/v1/erasures/${kind}`,
      operationId: `erase${kind[0]!.toUpperCase()}${kind.slice(1)}`,
      responses: { 200: 'What was found; the removal has begun unless it is a dry run' },
      isKeyed: true,
    },
    cli: {
      command: `erase ${kind}`,
      args: ['id'],
      connection: 'websocket',
      flags: { dryRun: '--dry-run' },
      waitMs: () => SURVEY_MS + 10_000,
      examples: [EXAMPLES[kind]],
      ...(kind === 'tenant' && { question: tenantQuestion }),
      print: ({ counts, dryRun, erasure, shared }) =>
        `${dryRun ? 'would remove' : 'removing'} ${countsText(counts)}\n` +
        (shared ? `${shared} sessions with messages of others stay\n` : '') +
        (dryRun ? '' : `Next: troupe erase show ${erasure}\n`),
    },
    async run(context, { dryRun, id }) {
      const target = targetOf(context.tenant, { kind, id });
      if (dryRun) {
        const { counts, shared } = await context.erasure.survey(target);
        return { counts, dryRun: true as const, ...(shared > 0 && { shared }) };
      }
      const { sub: who } = context.caller;
      const message: ErasureRequest = { type: 'erasure.request', kind, id, who };
      return askActor<ErasureRow>(context, erasureAddress(target), message, {
        name: `the erasure of ${kind} ${id}`,
        timeoutMs: SURVEY_MS,
        key: context.idempotencyKey,
      });
    },
  });

const list = defineOperation({
  name: 'erasures.list',
  scope: 'tenant',
  gatewayScope: 'operator.admin',
  summary: 'List erasures with their state and what they removed, the newest first',
  params: Type.Object({}),
  result: Type.Object({ erasures: Type.Array(ObjectOf<ErasureRow>()) }),
  errors: [],
  http: {
    method: 'GET',
    path: '/v1/erasures',
    operationId: 'listErasures',
    responses: { 200: 'The newest first' },
  },
  cli: {
    command: 'erase list',
    connection: 'websocket',
    examples: ['troupe erase list'],
    print: ({ erasures: rows }) =>
      rows.length === 0
        ? 'no erasures\n'
        : table(
            ['erasure', 'state', 'who', 'requested', 'ended'],
            rows.map((row) => [
              row.erasure,
              row.state,
              row.who,
              isoTime(row.requestedAt),
              row.endedAt === undefined ? '' : isoTime(row.endedAt),
            ]),
          ),
  },
  run: ({ system, tenant }) => ({
    erasures: system.index
      .list<ErasureRow>(ERASURES_INDEX, tenant, { limit: LIST_MAX })
      .map(({ value }) => value)
      .toSorted((a, b) => b.requestedAt - a.requestedAt),
  }),
});

const show = defineOperation({
  name: 'erasures.get',
  scope: 'tenant',
  gatewayScope: 'operator.admin',
  summary: 'Show one erasure',
  params: Type.Object({
    erasure: Type.String({ description: 'As the list names it: session:KEY, user:ID, tenant:ID' }),
  }),
  result: ObjectOf<ErasureRow>(),
  errors: ['NOT_FOUND'],
  http: {
    method: 'GET',
    path: '/v1/erasures/{erasure}',
    operationId: 'getErasure',
    responses: { 200: 'Its state, and what it removed' },
  },
  cli: {
    command: 'erase show',
    args: ['erasure'],
    connection: 'websocket',
    examples: ['troupe erase show session:agent:main:trial'],
    print: (row) =>
      `${row.erasure}: ${row.state}\n` +
      `requested ${isoTime(row.requestedAt)} by ${row.who}` +
      `${row.endedAt === undefined ? '' : `, ended ${isoTime(row.endedAt)}`}\n` +
      `${countsText(row.counts)}\n` +
      (row.reach ? reachText(row.reach) : '') +
      (row.error ? `${row.error.code}: ${row.error.message}\n` : ''),
  },
  run({ system, tenant }, { erasure }) {
    const row = system.index.get<ErasureRow>(ERASURES_INDEX, tenant, erasure);
    if (row) return row;
    throw new TroupeError('NOT_FOUND', `there is no erasure ${erasure}`);
  },
});

const reachText = ({ shards, shardsAll, streams, processes }: ErasureReach): string =>
  `removed from the disk: ${shards} of ${shardsAll} shards` +
  (streams.length > 0 ? `; streams ${streams.join(', ')}` : '') +
  (processes.length > 0 ? `; processes ${processes.join(', ')}` : '') +
  '\n';

const countsText = (counts: ErasureCounts): string =>
  [
    `${counts.sessions} sessions`,
    `${counts.actors} other actors`,
    `${counts.rows} rows`,
    `${counts.transcriptEntries} transcript entries`,
    `${counts.deadLetters} dead letters`,
    `${counts.artifacts} artifacts`,
    `${counts.files} files`,
    `${counts.vectors ?? 0} vectors`,
  ].join(', ');

export const erasures: Resource = {
  name: 'erase',
  operations: [list, show, ...ERASURE_KINDS.map(startOf)],
};
