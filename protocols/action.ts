/**
 * Action: the description of an operation that an agent offers. There is one spec per MAJOR
 * version. The registry, the capabilities documents, OpenAPI and the SDKs all contain the same
 * spec.
 */
import { type Static, Type } from '@sinclair/typebox';
import { AnyKey } from './any-key.ts';
import { defined } from './defined.ts';
import { parseAction } from './envelope.ts';

const closed = { additionalProperties: false } as const;

export const TRANSPORTS = ['http', 'nats'] as const;
export type Transport = (typeof TRANSPORTS)[number];

export const PAYLOAD_BYTES_DEFAULT = 262_144;

/** A JSON Schema document as published. */
const JsonSchema = Type.Unsafe<Record<string, unknown>>({ type: 'object' });

export const ActionSpecSchema = Type.Object(
  {
    action: Type.String(),
    action_version: Type.String({ description: 'the newest version of this MAJOR' }),
    description: Type.String({ maxLength: 1_024 }),
    transports: Type.Array(Type.Unsafe<Transport>({ type: 'string', enum: [...TRANSPORTS] })),
    max_payload_bytes: Type.Integer({ minimum: 1, maximum: 1_048_576 }),
    eta_sec: Type.Integer({ minimum: 1, maximum: 86_400 }),
    /** by payload.schema_version */
    schemas: Type.Record(AnyKey, JsonSchema),
    result_schema: Type.Optional(JsonSchema),
    roles: Type.Array(Type.String(), {
      description:
        'A caller needs one of these roles. With it, the caller may also read, cancel and give input to tasks of others. Empty: any caller may call, and only the caller and operators have access to the task.',
    }),
    key_scope: Type.Optional(
      Type.Unsafe<'principal' | 'tenant'>({
        type: 'string',
        enum: ['principal', 'tenant'],
        description:
          'The scope of an idempotency key: the caller (default), or all callers of the tenant',
      }),
    ),
    compensable: Type.Boolean(),
    sensitive: Type.Boolean(),
    /** RFC 3339; requests for the version are refused after this time */
    sunset_at: Type.Optional(Type.String({ format: 'date-time' })),
    deprecated: Type.Optional(Type.Boolean()),
  },
  { ...closed, title: 'ActionSpec' },
);
export type ActionSpec = Static<typeof ActionSpecSchema>;

/** The MAJOR part of a semantic version. */
export const majorOf = (version: string): number => Number(version.slice(0, version.indexOf('.')));

/**
 * Whether version `offered` can serve a request for `wanted`: same MAJOR and not older (semver).
 */
export const serves = (offered: string, wanted: string): boolean => {
  if (offered === wanted) return true;
  const [major = 0, minor = 0, patch = 0] = numbers(offered);
  const [m = 0, n = 0, p = 0] = numbers(wanted);
  return major === m && (minor > n || (minor === n && patch >= p));
};
const numbers = (version: string): number[] => version.split(/[-+]/, 1)[0]!.split('.').map(Number);

/** Path of a payload's schema below protocols/schemas/. */
export const schemaPath = (action: string, schemaVersion: string): string => {
  const { domain, verb, object } = parseAction(action);
  return `${domain}/${verb}_${object}/${schemaVersion}.json`;
};

/** An agent's row in the registry: index `registry`, key agent id. */
export type AgentRow = {
  readonly agent_id: string;
  readonly version: string;
  readonly status: 'live' | 'degraded' | 'gone';
  readonly last_seen_at: string;
  readonly registered_at: string;
  readonly envelope_versions: readonly string[];
  /** of an external agent: the URL that accepts envelopes */
  readonly url?: string;
  readonly actions: readonly ActionSpec[];
  /** the agent's rights to its action names; internal, never published */
  readonly claims?: AgentClaims;
};
/** Rights of an external agent. An action name belongs to the agent that offered it first. */
export type AgentClaims = {
  /** `sub` of the principal that registered the agent and acts for it */
  readonly owner: string;
  /** by action name: RFC 3339 time since which the agent has offered it without interruption */
  readonly since: Readonly<Record<string, string>>;
  /** action names that an operator approved: the agent may serve them in addition to their owner */
  readonly approved: readonly string[];
};
export const AGENTS_INDEX = 'registry';

/**
 * Heartbeat interval. Two missed heartbeats make an agent degraded; a day without any makes it
 * gone.
 */
export const HEARTBEAT_MS = 300_000;
export const DEGRADED_AFTER_MS = 2 * HEARTBEAT_MS + 30_000;
export const GONE_AFTER_MS = 24 * 3_600_000;
/** Minimum time between the announcement of a removal and the removal. */
export const DEPRECATION_MS = 30 * 24 * 3_600_000;

/**
 * To an agent's listing, `{tenant}/listing/{agent_id}`: the actions of the agent `registry` as
 * messages. Reply: the AgentRow without its actions, or an error.
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
/** Announces that a MAJOR version of an action will be removed, at least 30 days ahead. */
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

/** Payload of the event `{action}.deprecation`: a MAJOR version of an action will be removed. */
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

/** The announcement for one action of an agent. */
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

/** The announcements in effect: those of versions that end after `nowMs`. */
export const deprecationsOf = (
  { agent_id, actions }: Pick<AgentRow, 'agent_id' | 'actions'>,
  nowMs: number,
): readonly Deprecation[] =>
  actions.flatMap(({ action, action_version, sunset_at }) =>
    sunset_at !== undefined && Date.parse(sunset_at) > nowMs
      ? [deprecationOf(agent_id, { action, major: majorOf(action_version), sunset_at }, actions)]
      : [],
  );
