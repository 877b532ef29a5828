/** `GET /v1/agents` and the schemas of payloads: the registry of the caller's tenant. */
import { type ActionSpec, AGENTS_INDEX, type AgentRow, majorOf } from '../../protocols/action.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { Index } from '../../runtime/index.ts';
import type { Identity } from '../edge/edge.ts';
import type { Offers } from '../../protocols/offers.ts';
import { credentialsOf } from './envelopes.ts';
import { type Route, sendJson } from './route.ts';

export type RegistryRoutesOptions = {
  readonly offers: Pick<Offers, 'all'>;
  readonly index: Pick<Index, 'list'>;
  readonly identity: Pick<Identity, 'authenticate'>;
};

/** A listed agent, with its actions by name and version. */
export type ListedAgent = Omit<AgentRow, 'actions' | 'claims'> & {
  readonly actions: readonly Pick<
    ActionSpec,
    'action' | 'action_version' | 'deprecated' | 'sunset_at'
  >[];
};

/** All agents in the tenant's registry, by id. */
export const agentsOf = (index: Pick<Index, 'list'>, tenant: string): readonly ListedAgent[] =>
  index.list<AgentRow>(AGENTS_INDEX, tenant).map(({ value: { actions, claims: _, ...row } }) => ({
    ...row,
    actions: actions.map(({ action, action_version, deprecated, sunset_at }) => ({
      action,
      action_version,
      ...(deprecated === undefined ? {} : { deprecated }),
      ...(sunset_at === undefined ? {} : { sunset_at }),
    })),
  }));

/** The path of a payload's schema. Schemas of two MAJOR versions may have the same name. */
export const schemaUrl = ({ action, action_version }: ActionSpec, schemaVersion: string): string =>
  `/v1/schemas/${action.replace('.', '/')}/${schemaVersion}.json?major=${majorOf(action_version)}`;

export const registryRoutes = ({
  offers,
  index,
  identity,
}: RegistryRoutesOptions): readonly Route[] => [
  {
    method: 'GET',
    path: '/v1/agents',
    handle: async (incoming) => {
      const { tenant } = await identity.authenticate(credentialsOf(incoming));
      sendJson(incoming.response, 200, { agents: agentsOf(index, tenant) });
    },
  },
  {
    method: 'GET',
    path: '/v1/schemas/{domain}/{name}/{version}.json',
    handle: async (incoming) => {
      const { tenant } = await identity.authenticate(credentialsOf(incoming));
      const { domain = '', name = '', version = '' } = incoming.params;
      const action = `${domain}.${name}`;
      const schema = schemaOf(offers.all(tenant), action, version, incoming.query.get('major'));
      sendJson(incoming.response, 200, schema, { 'content-type': 'application/schema+json' });
    },
  },
];

/** Of the newest MAJOR version, unless another is requested. @throws TroupeError NOT_FOUND */
function schemaOf(
  specs: readonly ActionSpec[],
  action: string,
  schemaVersion: string,
  major: string | null,
): Record<string, unknown> {
  const schema = specs
    .filter((spec) => spec.action === action && Object.hasOwn(spec.schemas, schemaVersion))
    .findLast((spec) => major === null || String(majorOf(spec.action_version)) === major)?.schemas[
    schemaVersion
  ];
  if (schema) return schema;
  const of = major === null ? action : `version ${major} of ${action}`;
  throw new TroupeError('NOT_FOUND', `there is no schema ${schemaVersion} of ${of}`);
}
