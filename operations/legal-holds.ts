/** Legal holds: no erasure removes what they cover until they are released. */
import { Type } from '@sinclair/typebox';
import {
  LEGAL_HOLDS_INDEX,
  legalHoldAddress,
  type LegalHoldRelease,
  type LegalHoldRow,
  type LegalHoldSet,
} from '../protocols/erasure.ts';
import { TroupeError } from '../protocols/errors.ts';
import { askActor } from './ask-actor.ts';
import { TargetId, TargetKind, targetOf } from './erasures.ts';
import { defineOperation, ObjectOf, type Resource } from './operation.ts';
import { isoTime, table } from './text.ts';

const LIST_MAX = 1_000;

const set = defineOperation({
  name: 'holds.set',
  scope: 'tenant',
  summary: 'Keep the data of a session, a user or a tenant from being erased',
  params: Type.Object({
    kind: TargetKind,
    id: TargetId,
    why: Type.String({ minLength: 1, maxLength: 1_024, description: 'The reason' }),
  }),
  result: ObjectOf<LegalHoldRow>(),
  errors: ['INVALID_ARGUMENT', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/holds',
    operationId: 'setLegalHold',
    responses: { 200: 'The hold' },
  },
  cli: {
    command: 'hold set',
    args: ['kind', 'id'],
    connection: 'websocket',
    flags: { why: '--why <text>' },
    examples: ["troupe hold set session agent:main:trial --why 'case 4711'"],
    print: ({ kind, id }) => `${kind} ${id} is held\n`,
  },
  run(context, { why, ...params }) {
    const target = targetOf(context.tenant, params);
    const { kind, id } = target;
    const message: LegalHoldSet = { type: 'hold.set', kind, id, why, who: context.caller.sub };
    return askActor<LegalHoldRow>(context, legalHoldAddress(target), message, {
      name: `the legal hold of ${kind} ${id}`,
    });
  },
});

const release = defineOperation({
  name: 'holds.release',
  scope: 'tenant',
  summary: 'Release a legal hold',
  params: Type.Object({ kind: TargetKind, id: TargetId }),
  result: Type.Object({ released: Type.Literal(true) }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/holds/release',
    operationId: 'releaseLegalHold',
    responses: { 200: 'Released' },
  },
  cli: {
    command: 'hold release',
    args: ['kind', 'id'],
    connection: 'websocket',
    examples: ['troupe hold release session agent:main:trial'],
    print: (_, { kind, id }) => `${kind} ${id} is not held any more\n`,
  },
  async run(context, params) {
    const target = targetOf(context.tenant, params);
    const { kind, id } = target;
    if (!context.system.index.get(LEGAL_HOLDS_INDEX, context.tenant, `${kind}:${id}`))
      throw new TroupeError('NOT_FOUND', `there is no legal hold of ${kind} ${id}`);
    const message: LegalHoldRelease = { type: 'hold.release' };
    return askActor<{ released: true }>(context, legalHoldAddress(target), message, {
      name: `the legal hold of ${kind} ${id}`,
    });
  },
});

const list = defineOperation({
  name: 'holds.list',
  scope: 'tenant',
  gatewayScope: 'operator.admin',
  summary: 'List legal holds',
  params: Type.Object({}),
  result: Type.Object({ holds: Type.Array(ObjectOf<LegalHoldRow>()) }),
  errors: [],
  http: {
    method: 'GET',
    path: '/v1/holds',
    operationId: 'listLegalHolds',
    responses: { 200: 'All of the tenant' },
  },
  cli: {
    command: 'hold list',
    connection: 'websocket',
    examples: ['troupe hold list'],
    print: ({ holds: rows }) =>
      rows.length === 0
        ? 'no legal holds\n'
        : table(
            ['kind', 'id', 'since', 'by', 'why'],
            rows.map(({ kind, id, since, who, why }) => [kind, id, isoTime(since), who, why]),
          ),
  },
  run: ({ system, tenant }) => ({
    holds: system.index
      .list<LegalHoldRow>(LEGAL_HOLDS_INDEX, tenant, { limit: LIST_MAX })
      .map(({ value }) => value),
  }),
});

export const legalHolds: Resource = { name: 'hold', operations: [list, set, release] };
