/**
 * `/v1/dead-letters`: messages that could not be applied or got done, for operators: looked at,
 * sent again or set aside, with who did it and why (EN11).
 *
 * Boundary: who is an operator is the caller's to say; nothing is read before that is known.
 */
import { Type } from '@sinclair/typebox';
import { checker } from '../../protocols/check.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { wireError } from '../../protocols/task.ts';
import type { AuditEntry, DeadLetterHead, System } from '../../runtime/index.ts';
import { schemaFault } from '../edge/checks.ts';
import { parseJson, type Route, type RouteRequest, sendJson } from './route.ts';

export type DeadLetterRouteOptions = {
  readonly system: Pick<System, 'deadLetters'>;
  /** @throws TroupeError UNAUTHORIZED, FORBIDDEN unless an operator asks */
  readonly operator: (request: RouteRequest) => Promise<{ readonly sub: string }>;
};

const PAGE = { default: 100, max: 1_000 };
const BODY_BYTES_MAX = 16_384;
const POSITION = /^[1-9][0-9]{0,14}$/;

const Words = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const checkAudit = checker(
  Type.Object(
    {
      why: Words(1_024),
      /** the person, where several share a token; recorded beside the token's own name */
      who: Type.Optional(Words(256)),
    },
    { additionalProperties: false },
  ),
);

export const deadLetterRoutes = (options: DeadLetterRouteOptions): readonly Route[] => [
  { method: 'GET', path: '/v1/dead-letters', handle: (request) => list(options, request) },
  {
    method: 'GET',
    path: '/v1/dead-letters/{domain}/{position}',
    handle: (request) => show(options, request),
  },
  {
    method: 'POST',
    path: '/v1/dead-letters/{domain}/{position}/redrive',
    handle: (request) => redrive(options, request),
  },
  {
    method: 'POST',
    path: '/v1/dead-letters/{domain}/{position}/drop',
    handle: (request) => drop(options, request),
  },
];

async function list(
  { system: { deadLetters }, operator }: DeadLetterRouteOptions,
  incoming: RouteRequest,
): Promise<void> {
  await operator(incoming);
  const { query, response } = incoming;
  const domain = query.get('domain') ?? undefined;
  const from = numberOf(query.get('from'), 'from') ?? 1;
  const limit = numberOf(query.get('limit'), 'limit') ?? PAGE.default;
  if (limit > PAGE.max) throw invalid(`limit is ${limit}; at most ${PAGE.max} are listed at once`);
  const page = { from, limit, ...(domain === undefined ? {} : { domain }) };
  const [letters, domains] = await Promise.all([deadLetters.list(page), deadLetters.domains()]);
  sendJson(response, 200, { dead_letters: letters.map(rowOf), domains });
}

async function show(
  { system: { deadLetters }, operator }: DeadLetterRouteOptions,
  incoming: RouteRequest,
): Promise<void> {
  await operator(incoming);
  const { domain, position } = placeOf(incoming);
  const letter = await deadLetters.get(position, domain);
  const audits = await deadLetters.audits({ domain });
  sendJson(incoming.response, 200, {
    ...rowOf(letter),
    ...(letter.event ? { event_type: letter.event.type, event: plain(letter.event) } : {}),
    audits: audits.filter((audit) => audit.position === position).map(auditOf),
  });
}

async function redrive(options: DeadLetterRouteOptions, incoming: RouteRequest): Promise<void> {
  const { deadLetters } = options.system;
  const audit = await auditIn(options, incoming);
  const { domain, position } = placeOf(incoming);
  const answer = await deadLetters.redrive(position, audit, domain);
  if (answer.kind === 'refused') throw TroupeError.from(answer.error);
  const done =
    answer.kind === 'already'
      ? { already: { at: new Date(answer.at).toISOString(), who: answer.who } }
      : { message_id: answer.id };
  sendJson(incoming.response, 200, { domain, position, ...done });
}

async function drop(options: DeadLetterRouteOptions, incoming: RouteRequest): Promise<void> {
  const { deadLetters } = options.system;
  const audit = await auditIn(options, incoming);
  const { domain, position } = placeOf(incoming);
  await deadLetters.drop(position, audit, domain);
  sendJson(incoming.response, 200, { domain, position });
}

/** Who does it is always the name of the token; what a person calls itself stands beside it. */
async function auditIn({ operator }: DeadLetterRouteOptions, incoming: RouteRequest) {
  const { sub } = await operator(incoming);
  const answer = checkAudit(parseJson(await incoming.body(BODY_BYTES_MAX)));
  if (!answer.ok) throw schemaFault('say why, and who', answer.errors);
  const { who, why } = answer.value;
  return { who: who === undefined || who === sub ? sub : `${who} (${sub})`, why };
}

function placeOf({ params }: RouteRequest): { domain: string; position: number } {
  const position = numberOf(params['position']!, 'the position of a dead letter')!;
  return { domain: params['domain']!, position };
}

function numberOf(text: string | null, what: string): number | undefined {
  if (text === null) return undefined;
  if (POSITION.test(text)) return Number(text);
  throw invalid(`${what} is ${JSON.stringify(text.slice(0, 40))}; write a whole number from 1`);
}

/** A letter in a list: without its message, which may be large. */
const rowOf = ({ domain, position, id, at, to, from, reason, error, ...more }: DeadLetterHead) => ({
  domain,
  position,
  id,
  at: timeOf(at),
  to,
  ...(from ? { from } : {}),
  reason,
  error: wireError(error),
  ...(more.eventType === undefined ? {} : { event_type: more.eventType }),
});

const auditOf = ({ who, why, at, action }: AuditEntry) => ({ who, why, at: timeOf(at), action });

const timeOf = (at: number): string => new Date(at).toISOString();

/** The message as JSON can show it: bytes as base64. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString('base64') };
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)]));
}

const invalid = (message: string) => new TroupeError('INVALID_ARGUMENT', message);
