/**
 * The pure parts of a listing: its registration, its row, the principals that may change it, and
 * the answers.
 */
import {
  AGENTS_INDEX,
  type AgentRow,
  DEGRADED_AFTER_MS,
  GONE_AFTER_MS,
} from '../../protocols/action.ts';
import { type ErrorData, errorData } from '../../protocols/errors.ts';
import type { ActorInput, Project, Reply, Tell } from '../../protocols/statechart.ts';
import { registryAddress } from '../registry/roll.ts';
import { announced, stillOffered, withSunsets } from './sunsets.ts';
import {
  type Args,
  type ArgsOf,
  type Asked,
  type CheckInput,
  type ListingContext,
  type ListingEvent,
  on,
  type Registration,
} from './types.ts';

export const DEGRADED = DEGRADED_AFTER_MS;
/** Counted from the state `degraded`. */
export const GONE = GONE_AFTER_MS - DEGRADED_AFTER_MS;
/** Counted from the state `gone`: an agent that is silent for a month is removed. */
export const FORGOTTEN = 30 * 24 * 3_600_000;
/**
 * Heartbeats that come sooner after another write nothing: several processes of a cell speak for
 * the same agents.
 */
export const FRESH_MS = 60_000;
/** Versions of the envelope that agents speak. */
const ENVELOPE_VERSIONS = ['1.0'];

type State = { readonly context: ListingContext };

export const initialContext = ({ self, tenant, key, now }: ActorInput): ListingContext => ({
  self,
  tenant,
  agentId: key,
  status: 'live',
  registration: null,
  owner: '',
  since: {},
  approved: [],
  registeredAt: now,
  lastSeen: now,
  sunsets: [],
  asked: null,
  notices: [],
});

// ---- registration

const registrationOf = ({
  version,
  url,
  actions,
}: ArgsOf<'registry.register_agent'>['event']): Registration => {
  return { version, actions, ...(url === undefined ? {} : { url }) };
};
const senderOf = ({ meta }: ListingEvent): string => meta.principal?.sub ?? '';

export const keepAsked = on('registry.register_agent', ({ event }): Partial<ListingContext> => {
  const { reply } = event.meta;
  const asked: Asked = {
    ...registrationOf(event),
    owner: senderOf(event),
    byOperator: isOperator(event),
    at: event.meta.now,
    ...(reply ? { replyTo: reply } : {}),
  };
  return { asked };
});

/**
 * Stores the checked registration. A registration by an operator keeps the owner of an external
 * agent, and approves all its actions.
 */
export const take = ({ context }: State): Partial<ListingContext> => {
  const { owner: _, byOperator: __, at, replyTo: ___, ...registration } = context.asked!;
  const first = context.registration === null;
  const names = registration.actions.map(({ action }) => action);
  return {
    registration,
    owner: ownerAfter(context),
    since: Object.fromEntries(names.map((name) => [name, sinceOf(context, name) ?? at])),
    approved: approvedAfter(context).filter((name) => names.includes(name)),
    lastSeen: at,
    ...(first ? { registeredAt: at } : {}),
    sunsets: stillOffered(context.sunsets, registration.actions),
  };
};

const sinceOf = ({ since }: ListingContext, action: string): number | undefined =>
  Object.hasOwn(since, action) ? since[action] : undefined;
const ownerAfter = ({ registration, owner, asked }: ListingContext): string =>
  registration?.url !== undefined && asked!.url !== undefined ? owner : asked!.owner;
const approvedAfter = ({ approved, asked }: ListingContext): readonly string[] =>
  asked!.byOperator ? asked!.actions.map(({ action }) => action) : approved;

/** The input of the check of a registration. */
export const checkInput = ({ context }: State): CheckInput => ({
  agentId: context.agentId,
  tenant: context.tenant,
  outside: context.asked!.url !== undefined,
  owner: ownerAfter(context),
  approved: approvedAfter(context),
  announced: announced(context),
  actions: context.asked!.actions,
});

export const markSeen = ({ event }: Args): Partial<ListingContext> => ({
  lastSeen: event.meta.now,
});
/** A registration counts as a heartbeat, even if it was refused. */
export const markAskedSeen = ({ context }: State): Partial<ListingContext> => ({
  lastSeen: context.asked!.at,
});

/** Fields have one order, in which they are also stored. */
export const isSame = on(
  'registry.register_agent',
  ({ context, event }): boolean =>
    JSON.stringify(context.registration) === JSON.stringify(registrationOf(event)) &&
    !approvesMore({ context, event }),
);

const approvesMore = ({ context, event }: ArgsOf<'registry.register_agent'>): boolean =>
  isOperator(event) &&
  registrationOf(event).url !== undefined &&
  registrationOf(event).actions.some(({ action }) => !context.approved.includes(action));

export const isFresh = ({ context, event }: Args): boolean =>
  context.status === 'live' && event.meta.now - context.lastSeen < FRESH_MS;
export const isSameAndFresh = on(
  'registry.register_agent',
  (args): boolean => isFresh(args) && isSame(args),
);

// ---- authorization

const isOperator = ({ meta }: ListingEvent): boolean =>
  meta.principal?.roles.includes('operator') ?? false;

/**
 * An external agent may not use the name of a local agent; the local agent may take its name back.
 */
export const isTakeover = on(
  'registry.register_agent',
  ({ context, event }): boolean =>
    context.registration?.url === undefined && registrationOf(event).url !== undefined,
);

export const isForbidden = ({ context, event }: Args): boolean =>
  senderOf(event) !== context.owner && !isOperator(event);

// ---- row

const time = (ms: number): string => new Date(ms).toISOString();

const summary = (context: ListingContext): Omit<AgentRow, 'actions'> => ({
  agent_id: context.agentId,
  version: context.registration?.version ?? '',
  status: context.status,
  last_seen_at: time(context.lastSeen),
  registered_at: time(context.registeredAt),
  envelope_versions: ENVELOPE_VERSIONS,
  ...(context.registration?.url === undefined ? {} : { url: context.registration.url }),
});

export const row = ({ context }: State): Project => {
  const { owner, approved } = context;
  const since = Object.fromEntries(
    Object.entries(context.since).map(([action, ms]) => [action, time(ms)]),
  );
  const value: AgentRow = {
    ...summary(context),
    actions: withSunsets(context),
    claims: { owner, since, approved },
  };
  return { index: AGENTS_INDEX, key: context.agentId, value };
};
export const noRow = ({ context }: State): Project => ({
  index: AGENTS_INDEX,
  key: context.agentId,
  value: null,
});
/** Requests an entry in the registry. */
export const enrol = ({ context }: State): Tell => ({
  to: registryAddress(context.tenant),
  event: { type: 'registry.enrol', agent_id: context.agentId },
  ask: true,
});
export const ended = ({ context }: State): Tell => ({
  to: registryAddress(context.tenant),
  event: { type: 'listing.ended', agent_id: context.agentId },
});

// ---- answers

const refusal = ({ meta }: ListingEvent, error: ErrorData): Reply => ({ to: meta.reply, error });

export const answer = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  result: { ...summary(context), status: 'live' },
});
export const taken = ({ context }: State): Reply => ({
  to: context.asked?.replyTo,
  result: { ...summary(context), status: 'live' },
});
export const refused = ({ asked }: ListingContext, error: unknown): Reply => ({
  to: asked?.replyTo,
  error: errorData(error),
});

export const isNoRoom = ({ event }: Args): boolean =>
  event.type === 'reply' && event.error !== undefined;
export const noRoom = ({ context, event }: Args): Reply =>
  refused(context, event.type === 'reply' ? event.error : undefined);
export const noAnswer = ({ context }: State): Reply =>
  refused(context, {
    code: 'UNAVAILABLE',
    message: `the registry of ${context.tenant} does not answer: try again`,
  });

export const unknown = ({ context, event }: Args): Reply =>
  refusal(event, {
    code: 'NOT_FOUND',
    message: `no agent ${context.agentId} is registered in ${context.tenant}: register it first`,
  });
export const forbidden = ({ context, event }: Args): Reply =>
  refusal(event, {
    code: 'FORBIDDEN',
    message: `the agent ${context.agentId} was registered by another principal: only that one, or an operator, speaks for it`,
  });
export const takenAlready = ({ context, event }: Args): Reply =>
  refusal(event, {
    code: 'CONFLICT',
    message: `${context.agentId} is the name of an agent of this cell: register under another agent_id`,
  });
