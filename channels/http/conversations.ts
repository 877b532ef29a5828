/**
 * `/v1/conversations`: messages between agents and what followed from them, for operators: looked
 * at and ended (AA4).
 *
 * Boundary: who is an operator is the caller's to say; nothing is read before that is known. Reads
 * are committed rows and wake nobody; the conversation actor has the last word.
 */
import {
  conversationAddress,
  type ConversationRow,
  conversationRowKey,
  CONVERSATIONS_INDEX,
} from '../../protocols/conversation.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { System } from '../../runtime/index.ts';
import { type Route, type RouteRequest, sendJson } from './route.ts';

export type ConversationRouteOptions = {
  readonly system: Pick<System, 'index' | 'ask'>;
  /** @throws TroupeError UNAUTHORIZED, FORBIDDEN unless an operator asks */
  readonly operator: (
    request: RouteRequest,
  ) => Promise<{ readonly sub: string /** default `default` */; readonly tenant?: string }>;
};

const LISTED_MAX = 1_000;
const ANSWER_MS = 20_000;
const LOOKED_AT = ['id', 'requester', 'target', 'createdAt'] as const;
type LookedAt = Pick<ConversationRow, (typeof LOOKED_AT)[number]>;

export const conversationRoutes = (options: ConversationRouteOptions): readonly Route[] => [
  { method: 'GET', path: '/v1/conversations', handle: (request) => list(options, request) },
  { method: 'GET', path: '/v1/conversations/{id}', handle: (request) => show(options, request) },
  {
    method: 'POST',
    path: '/v1/conversations/{id}/end',
    handle: (request) => end(options, request),
  },
];

/** Those that go on and those of the last 28 hours, newest first; `?session=` of either side. */
async function list(
  { system, operator }: ConversationRouteOptions,
  incoming: RouteRequest,
): Promise<void> {
  const tenant = tenantOf(await operator(incoming), incoming);
  const session = incoming.query.get('session');
  const found = await rows(
    system.index,
    tenant,
    ({ requester, target }) => session === null || requester === session || target === session,
  );
  sendJson(incoming.response, 200, { conversations: found });
}

/** One with all its turns. @throws TroupeError NOT_FOUND */
async function show(
  { system, operator }: ConversationRouteOptions,
  incoming: RouteRequest,
): Promise<void> {
  const tenant = tenantOf(await operator(incoming), incoming);
  const wanted = incoming.params['id']!;
  const [row] = await rows(system.index, tenant, ({ id }) => id === wanted);
  if (!row)
    throw new TroupeError(
      'NOT_FOUND',
      `there is no conversation ${wanted}: \`troupe conversations list\` shows those there are`,
    );
  sendJson(incoming.response, 200, row);
}

/** The newest of those that are wanted. */
async function rows(
  index: System['index'],
  tenant: string,
  isWanted: (row: LookedAt) => boolean,
): Promise<ConversationRow[]> {
  const wanted: LookedAt[] = [];
  await index.scan<ConversationRow, keyof LookedAt>(
    CONVERSATIONS_INDEX,
    tenant,
    { fields: LOOKED_AT },
    (row) => {
      if (isWanted(row)) wanted.push(row);
    },
  );
  return wanted
    .toSorted((a, b) => b.createdAt - a.createdAt)
    .slice(0, LISTED_MAX)
    .map(({ requester, id }) => conversationRowKey(requester, id))
    .map((key) => index.get<ConversationRow>(CONVERSATIONS_INDEX, tenant, key))
    .filter((row) => row !== undefined);
}

/** No more turns: `{ended: true}`; false when it had ended before. */
async function end(
  { system, operator }: ConversationRouteOptions,
  incoming: RouteRequest,
): Promise<void> {
  const who = await operator(incoming);
  const tenant = tenantOf(who, incoming);
  const id = incoming.params['id']!;
  const told = await system.ask(
    conversationAddress(tenant, id),
    { type: 'conversation.end' },
    { principal: { sub: who.sub, roles: ['operator'] }, timeoutMs: ANSWER_MS },
  );
  if (told.kind === 'refused') throw TroupeError.from(told.error);
  if (told.kind === 'timeout')
    throw new TroupeError(
      'DEADLINE_EXCEEDED',
      `conversation ${id} did not answer; look at the list`,
    );
  sendJson(incoming.response, 200, told.result);
}

/** `?tenant=`: operators look after every tenant. @throws TroupeError INVALID_ARGUMENT */
function tenantOf({ tenant = 'default' }: { tenant?: string }, { query }: RouteRequest): string {
  const named = query.get('tenant') ?? tenant;
  conversationAddress(named, 'any');
  return named;
}
