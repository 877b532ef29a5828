/**
 * The offered actions as documents: `GET /mcp/capabilities` and `GET /acp/capabilities`, for the
 * caller's tenant. Both are derived from the data that the Edge uses, so they cannot differ from
 * it.
 */
import { type ActionSpec, type Transport, TRANSPORTS } from '../../protocols/action.ts';
import type { RouteRequest } from './route.ts';
import { credentialsOf } from './envelopes.ts';
import { type ListedAgent, agentsOf, type RegistryRoutesOptions, schemaUrl } from './registry.ts';
import { type Route, sendJson } from './route.ts';

/** Supported versions of the envelope. */
const ENVELOPE_VERSIONS = ['1.0'] as const;

/** Explains the second document, because ACP has several meanings. */
const ACP = {
  name: 'ACP',
  meaning: 'Agent Communication Protocol',
  status:
    'The Agent Communication Protocol (IBM, BeeAI) was merged into A2A, the Agent2Agent protocol, under the Linux Foundation in August 2025. It is not the Agent Client Protocol of editors.',
  successor: { name: 'A2A', url: 'https://a2a-protocol.org' },
  note: 'This document lists the same capabilities as /mcp/capabilities; ask for them by envelopes (POST /v1/envelopes).',
} as const;

export type Capability = Omit<ActionSpec, 'schemas' | 'result_schema'> & {
  /** the served versions of the action, one per MAJOR */
  readonly supported_versions: readonly string[];
  /** URL of the schema, by payload.schema_version */
  readonly schemas: Readonly<Record<string, string>>;
};
export type Capabilities = {
  readonly envelope_versions: readonly string[];
  readonly transports: readonly Transport[];
  readonly agents: readonly ListedAgent[];
  readonly actions: readonly Capability[];
};

export type CapabilityRoutesOptions = RegistryRoutesOptions & {
  /** the actions that this cell serves; default all */
  readonly transports?: readonly Transport[];
};

export const capabilitiesOf = (
  { offers, index, transports = TRANSPORTS }: Omit<CapabilityRoutesOptions, 'identity'>,
  tenant: string,
): Capabilities => {
  const specs = offers.all(tenant);
  return {
    envelope_versions: ENVELOPE_VERSIONS,
    transports,
    agents: agentsOf(index, tenant),
    actions: specs.map((spec) => capabilityOf(spec, specs)),
  };
};

const capabilityOf = (spec: ActionSpec, specs: readonly ActionSpec[]): Capability => {
  const { schemas, result_schema: _, ...rest } = spec;
  return {
    ...rest,
    supported_versions: specs
      .filter(({ action }) => action === spec.action)
      .map(({ action_version }) => action_version),
    schemas: Object.fromEntries(
      Object.keys(schemas).map((version) => [version, schemaUrl(spec, version)]),
    ),
  };
};

export const capabilityRoutes = (options: CapabilityRoutesOptions): readonly Route[] => {
  const answer = async (incoming: RouteRequest, more: object): Promise<void> => {
    const { tenant } = await options.identity.authenticate(credentialsOf(incoming));
    sendJson(incoming.response, 200, { ...more, ...capabilitiesOf(options, tenant) });
  };
  return [
    { method: 'GET', path: '/mcp/capabilities', handle: (incoming) => answer(incoming, {}) },
    {
      method: 'GET',
      path: '/acp/capabilities',
      handle: (incoming) => answer(incoming, { protocol: ACP }),
    },
  ];
};
