/**
 * Dead letters: messages that the runtime could not deliver or an actor could not process.
 * Operators list, redrive and drop them; who did it and why is recorded.
 */
import { userInfo } from 'node:os';
import { Type } from '@sinclair/typebox';
import { defined } from '../protocols/defined.ts';
import { TroupeError } from '../protocols/errors.ts';
import { type WireError, wireError } from '../protocols/task.ts';
import type { AuditEntry, DeadLetterHead } from '../runtime/index.ts';
import {
  type CliInput,
  defineOperation,
  ObjectOf,
  type OperationContext,
  type Resource,
} from './operation.ts';
import { ago, isoTime, oneLine, table } from './text.ts';

const LIST_MAX = 1_000;
const LIST_DEFAULT = 100;
const POSITION_MAX = 999_999_999_999_999;

/** A dead letter in a list: without its message, which may be large. */
export type DeadLetterView = {
  readonly domain: string;
  readonly position: number;
  readonly id: string;
  /** ISO 8601 */
  readonly at: string;
  readonly to: string;
  readonly from?: string;
  readonly reason: string;
  readonly error: WireError;
  readonly event_type?: string;
};

type DeadLetterDetail = DeadLetterView & {
  readonly event?: unknown;
  readonly audits: readonly ReturnType<typeof auditOf>[];
};

const domain = Type.String({ description: 'Domain of the dead letter' });
const position = Type.Integer({
  minimum: 1,
  maximum: POSITION_MAX,
  description: 'Position of the dead letter in its domain',
});
const audit = {
  why: Type.String({
    minLength: 1,
    maxLength: 1_024,
    description: 'The reason, which is recorded',
  }),
  who: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'The operator, where several share a token; recorded with the name of the token',
    }),
  ),
};
const Letter = Type.Object({ domain, position });
const AuditedLetter = Type.Object({ domain, position, ...audit });

const letter = Type.String({ description: 'The dead letter, as domain/position' });
const fromLetter: CliInput<typeof Letter> = {
  schema: Type.Object({ letter }),
  toParams: (given) => letterParams(String(given['letter'])),
};
const fromAuditedLetter: CliInput<typeof AuditedLetter> = {
  schema: Type.Object({ letter, ...audit }),
  toParams: ({ letter: named, why, who = userInfo().username }) => ({
    ...letterParams(String(named)),
    why: String(why),
    who: String(who),
  }),
};

/** @throws TroupeError INVALID_ARGUMENT */
export function letterParams(text: string): { domain: string; position: number } {
  const [, named, number] = /^([a-z][a-z0-9_]*)\/([1-9][0-9]{0,14})$/.exec(text) ?? [];
  if (named !== undefined) return { domain: named, position: Number(number) };
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${JSON.stringify(text)} names no dead letter: write domain/position, as orders/17`,
  );
}

export const listDeadLetters = defineOperation({
  name: 'dead-letters.list',
  scope: 'installation',
  // They contain messages of all tenants.
  gatewayScope: 'operator.admin',
  summary: 'List dead letters that are neither redriven nor dropped',
  params: Type.Object({
    domain: Type.Optional(Type.String({ description: 'Only dead letters of this domain' })),
    from: Type.Optional(
      Type.Integer({ minimum: 1, description: 'First position of each domain; default 1' }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIST_MAX,
        description: `Maximum number, up to ${LIST_MAX}; default ${LIST_DEFAULT}`,
      }),
    ),
  }),
  result: Type.Object({
    dead_letters: Type.Array(ObjectOf<DeadLetterView>()),
    domains: Type.Array(Type.String()),
  }),
  errors: ['INVALID_ARGUMENT'],
  http: {
    method: 'GET',
    path: '/v1/dead-letters',
    operationId: 'listDeadLetters',
    responses: { 200: 'A page, and all domains' },
  },
  cli: {
    command: 'dlq list',
    flags: { domain: '--domain <domain>' },
    examples: ['troupe dlq list', 'troupe dlq list --domain orders --json'],
    print: ({ dead_letters: letters }, params) => listText(letters, params),
  },
  async run({ system: { deadLetters } }, { domain: named, from = 1, limit = LIST_DEFAULT }) {
    const page = { from, limit, ...defined({ domain: named }) };
    const [letters, domains] = await Promise.all([deadLetters.list(page), deadLetters.domains()]);
    return { dead_letters: letters.map(viewOf), domains: [...domains] };
  },
});

const show = defineOperation({
  name: 'dead-letters.show',
  scope: 'installation',
  // They contain messages of all tenants.
  gatewayScope: 'operator.admin',
  summary: 'Show a dead letter with its message and what operators did about it',
  params: Letter,
  result: ObjectOf<DeadLetterDetail>(),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND'],
  http: {
    method: 'GET',
    path: '/v1/dead-letters/{domain}/{position}',
    operationId: 'getDeadLetter',
    responses: { 200: 'The dead letter' },
  },
  cli: {
    command: 'dlq show',
    input: fromLetter,
    args: ['letter'],
    examples: ['troupe dlq show orders/17'],
    print: detailText,
  },
  async run({ system: { deadLetters } }, { domain: named, position: at }) {
    const found = await deadLetters.get(at, named);
    const audits = await deadLetters.audits({ domain: named });
    return {
      ...viewOf(found),
      ...(found.event ? { event_type: found.event.type, event: jsonOf(found.event) } : {}),
      audits: audits.filter((one) => one.position === at).map(auditOf),
    };
  },
});

export const redriveDeadLetter = defineOperation({
  name: 'dead-letters.redrive',
  scope: 'installation',
  summary: 'Send the message of a dead letter again, as a new message',
  params: AuditedLetter,
  result: Type.Object({
    domain: Type.String(),
    position: Type.Integer(),
    message_id: Type.Optional(Type.String()),
    already: Type.Optional(
      Type.Object(
        { at: Type.String(), who: Type.String() },
        { description: 'It was redriven before, and nothing was sent now' },
      ),
    ),
  }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT'],
  http: {
    method: 'POST',
    path: '/v1/dead-letters/{domain}/{position}/redrive',
    operationId: 'redriveDeadLetter',
    responses: { 200: 'The new message, or when and by which operator it was redriven before' },
  },
  async run(context, { domain: named, position: at, ...given }) {
    const { deadLetters } = context.system;
    const answer = await deadLetters.redrive(at, auditFor(context, given), named);
    if (answer.kind === 'refused') throw TroupeError.from(answer.error);
    return answer.kind === 'already'
      ? { domain: named, position: at, already: { at: isoTime(answer.at), who: answer.who } }
      : { domain: named, position: at, message_id: answer.id };
  },
});

const drop = defineOperation({
  name: 'dead-letters.drop',
  scope: 'installation',
  summary: 'Drop a dead letter without sending its message',
  params: AuditedLetter,
  result: Letter,
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT'],
  http: {
    method: 'POST',
    path: '/v1/dead-letters/{domain}/{position}/drop',
    operationId: 'dropDeadLetter',
    responses: { 200: 'Dropped' },
  },
  cli: {
    command: 'dlq drop',
    input: fromAuditedLetter,
    args: ['letter'],
    flags: { why: '--why <text>', who: '--who <name>' },
    examples: ["troupe dlq drop orders/17 --why 'was paid by hand'"],
    print: ({ domain: named, position: at }) => `${named}/${at} was dropped\n`,
  },
  async run(context, { domain: named, position: at, ...given }) {
    await context.system.deadLetters.drop(at, auditFor(context, given), named);
    return { domain: named, position: at };
  },
});

export const deadLetters: Resource = {
  name: 'dlq',
  operations: [listDeadLetters, show, redriveDeadLetter, drop],
};

/** The name of the token is always recorded, next to the name that the operator passes. */
const auditFor = (
  { caller: { sub } }: OperationContext,
  { who = sub, why }: { readonly who?: string; readonly why: string },
) => ({ who: who === sub ? sub : `${who} (${sub})`, why });

const viewOf = ({ at, from, error, eventType, ...head }: DeadLetterHead): DeadLetterView => ({
  domain: head.domain,
  position: head.position,
  id: head.id,
  at: isoTime(at),
  to: head.to,
  ...defined({ from }),
  reason: head.reason,
  error: wireError(error),
  ...defined({ event_type: eventType }),
});

const auditOf = ({ who, why, at, action }: AuditEntry) => ({ who, why, at: isoTime(at), action });

/** The message as JSON, with bytes as base64. */
function jsonOf(value: unknown): unknown {
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString('base64') };
  if (Array.isArray(value)) return value.map(jsonOf);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, jsonOf(part)]));
}

function listText(
  letters: readonly DeadLetterView[],
  { domain: named, limit = LIST_DEFAULT }: { readonly domain?: string; readonly limit?: number },
): string {
  if (letters.length === 0)
    return `there are no dead letters${named === undefined ? '' : ` in ${named}`}\n`;
  const head = ['letter', 'age', 'reason', 'message', 'to', 'error'];
  const more =
    letters.length === limit
      ? 'there may be more: --limit lists up to 1000, --domain one domain\n'
      : '';
  return table(head, letters.map(cells)) + more;
}

const cells = ({ domain: named, error, ...view }: DeadLetterView): string[] => [
  `${named}/${view.position}`,
  ago(Date.now() - Date.parse(view.at)),
  view.reason,
  view.event_type ?? '',
  view.to,
  `${error.code}: ${oneLine(error.message).slice(0, 60)}`,
];

function detailText({ from, error, event, audits, ...view }: DeadLetterDetail): string {
  const lines = [
    `letter   ${view.domain}/${view.position}`,
    `at       ${view.at}`,
    `to       ${view.to}`,
    ...(from === undefined ? [] : [`from     ${from}`]),
    `reason   ${view.reason}`,
    `error    ${error.code}: ${error.message}`,
    ...(event === undefined ? [] : ['message', JSON.stringify(event, null, 2)]),
    ...audits.map(({ who, why, at, action }) => `${at}  ${action} by ${who}: ${why}`),
  ];
  return `${lines.join('\n')}\n`;
}
