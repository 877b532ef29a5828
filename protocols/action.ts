/**
 * Action: what an agent offers, as data (EN2, EN14, EN15, EN21). One spec per MAJOR version; the
 * same row stands in the registry, in the capabilities documents, in OpenAPI and in the SDKs.
 */
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { defined } from './defined.ts';
import { parseAction } from './envelope.ts';

const closed = { additionalProperties: false } as const;

export const TRANSPORTS = ['http', 'nats'] as const;
export type Transport = (typeof TRANSPORTS)[number];

export const PAYLOAD_BYTES_DEFAULT = 262_144;

/** JSON Schema documents as they are published. */
const JsonSchema = Type.Unsafe<Record<string, unknown>>({ type: 'object' });

export const ActionSpecSchema = Type.Object(
  {
    action: Type.String(),
    action_version: Type.String({ description: 'the newest of its MAJOR' }),
    description: Type.String({ maxLength: 1_024 }),
    transports: Type.Array(Type.Unsafe<Transport>({ type: 'string', enum: [...TRANSPORTS] })),
    max_payload_bytes: Type.Integer({ minimum: 1, maximum: 1_048_576 }),
    eta_sec: Type.Integer({ minimum: 1, maximum: 86_400 }),
    /** by payload.schema_version */
    schemas: Type.Record(Type.String(), JsonSchema),
    result_schema: Type.Optional(JsonSchema),
    roles: Type.Array(Type.String(), {
      description:
        'callers need one of them, and may then also read, cancel and give input to tasks of others; empty: everybody may call, and only the caller and operators reach the task',
    }),
    key_scope: Type.Optional(
      Type.Unsafe<'principal' | 'tenant'>({
        type: 'string',
        enum: ['principal', 'tenant'],
        description:
          'whose an idempotency key is: of the caller alone (default), or shared by all who may call',
      }),
    ),
    compensable: Type.Boolean(),
    sensitive: Type.Boolean(),
    /** RFC 3339; after it the version is refused */
    sunset_at: Type.Optional(Type.String({ format: 'date-time' })),
    deprecated: Type.Optional(Type.Boolean()),
  },
  { ...closed, title: 'ActionSpec' },
);
export type ActionSpec = Static<typeof ActionSpecSchema>;

/** MAJOR of a semantic version. */
export const majorOf = (version: string): number => Number(version.slice(0, version.indexOf('.')));

/** Whether a spec of `offered` serves a request for `wanted`: same MAJOR, not newer (semver). */
export const serves = (offered: string, wanted: string): boolean => {
  const [major = 0, minor = 0, patch = 0] = numbers(offered);
  const [m = 0, n = 0, p = 0] = numbers(wanted);
  return major === m && (minor > n || (minor === n && patch >= p));
};
const numbers = (version: string): number[] => version.split(/[-+]/, 1)[0]!.split('.').map(Number);

/** Path of a payload's schema under protocols/schemas/ (EN2). */
export const schemaPath = (action: string, schemaVersion: string): string => {
  const { domain, verb, object } = parseAction(action);
  return `${domain}/${verb}_${object}/${schemaVersion}.json`;
};

/** An agent as it stands in the registry: index `registry`, key agent id. */
export type AgentRow = {
  readonly agent_id: string;
  readonly version: string;
  readonly status: 'live' | 'degraded' | 'gone';
  readonly last_seen_at: string;
  readonly registered_at: string;
  readonly envelope_versions: readonly string[];
  /** of an agent outside: its own door, which takes our envelopes */
  readonly url?: string;
  readonly actions: readonly ActionSpec[];
  /** by what right it offers them; for the cell itself, never shown outside */
  readonly claims?: AgentClaims;
};
/** Of an agent outside: the name of an action belongs to who offered it first (EN14). */
export type AgentClaims = {
  /** `sub` of who registered it and speaks for it */
  readonly owner: string;
  /** by name of an action: RFC 3339, since when it offers it without a break */
  readonly since: Readonly<Record<string, string>>;
  /** names that an operator registered for it: it may serve them beside their owner */
  readonly approved: readonly string[];
};
export const AGENTS_INDEX = 'registry';

/** Between two heartbeats; two missed make an agent degraded, a day makes it gone (EN14). */
export const HEARTBEAT_MS = 300_000;
export const DEGRADED_AFTER_MS = 2 * HEARTBEAT_MS + 30_000;
export const GONE_AFTER_MS = 24 * 3_600_000;
/** Between the announcement of a removal and the removal (EN15). */
export const DEPRECATION_MS = 30 * 24 * 3_600_000;

/**
 * To the listing of an agent, `{tenant}/listing/{agent_id}`: the actions of the agent `registry` as
 * messages. Answer: the AgentRow without its actions, or the error.
 */
export type RegistryRegister = {
  readonly type: 'registry.register_agent';
  readonly agent_id: string;
  readonly version: string;
  readonly url?: string;
  readonly actions: readonly ActionSpec[];
};
export type RegistryHeartbeat = {
  readonly type: 'registry.send_heartbeat';
  readonly agent_id: string;
};
/** Announces that a MAJOR version of an action goes, 30 days ahead or more. */
export type RegistryDeprecate = {
  readonly type: 'registry.deprecate_action';
  readonly agent_id: string;
  readonly action: string;
  readonly major: number;
  readonly sunset_at: string;
};
export type RegistryRemove = {
  readonly type: 'registry.remove_agent';
  readonly agent_id: string;
};

/** Payload of the event `{action}.deprecation`: a MAJOR version of an action ends. */
export const Deprecation = Type.Object(
  {
    event: Type.String({ description: '{action}.deprecation' }),
    agent_id: Type.String(),
    action: Type.String(),
    major: Type.Integer({ minimum: 0 }),
    sunset_at: Type.String({ format: 'date-time' }),
    successor: Type.Optional(
      Type.String({ description: 'newest version of a higher MAJOR that the agent offers' }),
    ),
  },
  { additionalProperties: false },
);
export type Deprecation = Static<typeof Deprecation>;

/** What an agent announces of one of its actions. */
export const deprecationOf = (
  agentId: string,
  { action, major, sunset_at }: { action: string; major: number; sunset_at: string },
  offered: readonly Pick<ActionSpec, 'action' | 'action_version'>[],
): Deprecation => {
  const successor = offered
    .filter((spec) => spec.action === action && majorOf(spec.action_version) > major)
    .toSorted((a, b) => majorOf(b.action_version) - majorOf(a.action_version))[0]?.action_version;
  return {
    event: `${action}.deprecation`,
    agent_id: agentId,
    action,
    major,
    sunset_at,
    ...defined({ successor }),
  };
};

/** The announcements that hold now: those of versions that end later than `nowMs`. */
export const deprecationsOf = (
  { agent_id, actions }: Pick<AgentRow, 'agent_id' | 'actions'>,
  nowMs: number,
): readonly Deprecation[] =>
  actions.flatMap(({ action, action_version, sunset_at }) =>
    sunset_at !== undefined && Date.parse(sunset_at) > nowMs
      ? [deprecationOf(agent_id, { action, major: majorOf(action_version), sunset_at }, actions)]
      : [],
  );

/** Schemas as TypeBox has them, by schema_version. */
export type PayloadSchemas = Readonly<Record<string, TSchema>>;
