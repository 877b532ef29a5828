/**
 * The registry's own actions, by which external agents register, send heartbeats, announce a sunset
 * and leave. The agent's listing in the envelope's tenant executes them.
 */
import { type TSchema, Type } from '@sinclair/typebox';
import { ActionSpecSchema, type AgentRow } from '../../protocols/action.ts';
import { SemanticVersion } from '../../protocols/check.ts';
import type { Envelope } from '../../protocols/envelope.ts';
import { type ActionDefinition, defineAction } from '../task/action.ts';
import { AGENT_ACTIONS_MAX } from '../listing/effects/check-specs.ts';
import { AGENT_ID, listingAddress } from './roll.ts';

/** The agent that offers these actions. */
const REGISTRY_AGENT = 'registry';
const ROLES = ['agent', 'operator'];
/** A registration is answered within seconds. */
const ETA_SEC = 60;
const PAYLOAD_BYTES_MAX = 1_048_576;

const AgentId = Type.String({ pattern: AGENT_ID.source });
const payload = (fields: Record<string, TSchema>): Record<string, TSchema> => ({
  '1.0': Type.Object(
    {
      schema_version: Type.Literal('1.0'),
      subject: Type.Optional(Type.String({ maxLength: 256 })),
      ...fields,
    },
    { additionalProperties: false },
  ),
});

const Summary = Type.Object(
  {
    agent_id: AgentId,
    version: Type.String(),
    status: Type.Unsafe<AgentRow['status']>({ type: 'string', enum: ['live', 'degraded', 'gone'] }),
    last_seen_at: Type.String({ format: 'date-time' }),
    registered_at: Type.String({ format: 'date-time' }),
    envelope_versions: Type.Array(Type.String()),
    url: Type.Optional(Type.String()),
  },
  { additionalProperties: false, description: 'the agent as the registry has it' },
);

type Own = Pick<ActionDefinition, 'action' | 'description' | 'schemas'>;
const action = (own: Own): ActionDefinition =>
  defineAction({
    ...own,
    version: '1.0.0',
    result: Summary,
    agent: REGISTRY_AGENT,
    actor: ({ tenant_id, payload: { agent_id } }: Envelope) =>
      listingAddress(tenant_id, String(agent_id)),
    roles: ROLES,
    etaSec: ETA_SEC,
    maxPayloadBytes: PAYLOAD_BYTES_MAX,
  });

export const registryActions = (): readonly ActionDefinition[] => [
  action({
    action: 'registry.register_agent',
    description:
      'Registers an external agent with its URL and actions, or replaces them. It must send a heartbeat every five minutes.',
    schemas: payload({
      agent_id: AgentId,
      version: SemanticVersion,
      url: Type.String({
        pattern: '^https?://[^\\s/@?#]+(/[^\\s?#]*)?$',
        maxLength: 2_048,
        description: 'its URL; envelopes are sent to {url}/v1/envelopes',
      }),
      actions: Type.Array(ActionSpecSchema, { maxItems: AGENT_ACTIONS_MAX }),
    }),
  }),
  action({
    action: 'registry.send_heartbeat',
    description:
      'Heartbeat of an agent, every five minutes. After two missed ones the agent is degraded.',
    schemas: payload({ agent_id: AgentId }),
  }),
  action({
    action: 'registry.remove_agent',
    description: 'Removes the agent from the registry at once.',
    schemas: payload({ agent_id: AgentId }),
  }),
  action({
    action: 'registry.deprecate_action',
    description:
      'Announces the removal of a MAJOR version of an action, at least 30 days ahead. The event {action}.deprecation repeats daily.',
    schemas: payload({
      agent_id: AgentId,
      action: Type.String({ minLength: 3, maxLength: 128 }),
      major: Type.Integer({ minimum: 0 }),
      sunset_at: Type.String({ format: 'date-time' }),
    }),
  }),
];
