/**
 * Reads and changes what the installation consists of: `agents.*`, `agent.identity.get`,
 * `models.*`, `config.*`, `skills.status`, `tools.*`, `commands.list`. The port in ../setup.ts does
 * the work; this file translates its results into the protocol.
 */
import type { Clock } from '../../../runtime/index.ts';
import { defined } from '../../../protocols/defined.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { GatewayParams } from '../../../protocols/gateway/index.ts';
import { COMMANDS } from '../../commands/parse.ts';
import { type AgentNames, fullSessionKey } from '../../../operations/sessions/session-key.ts';
import type { AgentCard, Setup } from '../setup.ts';
import { type MethodTable, published } from './method.ts';
import { principalOf, type Request } from './request.ts';

/** What methods about the configuration and the agents need. */
export type SetupContext = {
  readonly tenant: string;
  /** whether the tenant is the installation's own, whose operators run the installation */
  readonly isHome: boolean;
  readonly names: AgentNames;
  readonly clock: Clock;
  /** undefined when the process was started without access to its configuration */
  readonly setup?: Setup | undefined;
};

/**
 * @throws TroupeError UNAVAILABLE when the gateway was started without access to a configuration
 */
export const setupOf = ({ context }: Request<SetupContext>): Setup => {
  if (context.setup !== undefined) return context.setup;
  throw new TroupeError(
    'UNAVAILABLE',
    'this gateway has no access to the configuration: use another gateway',
  );
};

/**
 * Installation-wide settings: the configuration with its secrets, the log, and inherited agents.
 * Only clients of the installation's own tenant may read and change them.
 * @throws TroupeError FORBIDDEN to clients of other tenants; UNAVAILABLE as `setupOf`
 */
export const installationOf = (request: Request<SetupContext>): Setup => {
  const { isHome, tenant } = request.context;
  if (isHome) return setupOf(request);
  throw new TroupeError(
    'FORBIDDEN',
    `installation-wide settings: clients of the tenant ${tenant} may not read or change them`,
  );
};

/**
 * The agents that the client's tenant owns: those of a tenant, or of the installation.
 * @throws TroupeError FORBIDDEN to clients of a tenant that inherits its agents; UNAVAILABLE as
 *   `setupOf`
 */
const ownAgentsOf = (request: Request<SetupContext>): Setup =>
  request.context.setup?.ownsAgents ? request.context.setup : installationOf(request);

/** The session that the parameters name, and its agent. @throws TroupeError INVALID_ARGUMENT */
const namedSession = (
  { context: { names } }: Request<SetupContext>,
  given: { readonly agentId?: string; readonly sessionKey?: string },
): { readonly sessionKey: string; readonly agentId: string } => fullSessionKey(names, given);

/** The agent cards; without access to the configuration, only ids and models. */
const cards = ({ context: { names, setup } }: Request<SetupContext>): readonly AgentCard[] =>
  setup?.agents.cards() ??
  names.agents.map(({ id, model }) => ({ id, model, fallbacks: [], workspace: '' }));

const identityOf = ({ name, emoji, avatar }: AgentCard) => ({
  ...defined({ name, emoji, avatar }),
});

const agentsList = (request: Request<SetupContext>) => {
  const { names } = request.context;
  return {
    defaultId: names.defaultAgentId,
    ownership: 'explicit',
    selectionRequired: false,
    mainKey: names.mainKey,
    scope: 'per-sender',
    agents: cards(request).map((card) => {
      const identity = identityOf(card);
      return {
        id: card.id,
        kind: 'agent',
        name: card.name ?? card.id,
        ...(Object.keys(identity).length === 0 ? {} : { identity }),
        ...(card.workspace === '' ? {} : { workspace: card.workspace }),
        model: {
          primary: card.model,
          ...(card.fallbacks.length === 0 ? {} : { fallbacks: card.fallbacks }),
        },
        ...defined({ thinkingDefault: card.thinking }),
      };
    }),
  };
};

const agentsCreate = async (
  request: Request<SetupContext>,
  params: GatewayParams<'agents.create'>,
) => {
  const {
    id,
    workspace,
    model,
    name = id,
  } = await ownAgentsOf(request).agents.create(params, principalOf(request).sub);
  return { ok: true, agentId: id, name, workspace, model };
};

const agentsUpdate = async (
  request: Request<SetupContext>,
  params: GatewayParams<'agents.update'>,
) => {
  await ownAgentsOf(request).agents.update(params, principalOf(request).sub);
  return { ok: true, agentId: params.agentId };
};

const agentsDelete = async (
  request: Request<SetupContext>,
  params: GatewayParams<'agents.delete'>,
) => {
  const { removed, failed } = await ownAgentsOf(request).agents.remove(
    params,
    principalOf(request).sub,
  );
  return {
    ok: true,
    agentId: params.agentId,
    // Bindings exist only in the configuration.
    removedBindings: 0,
    ...(removed.length === 0 ? {} : { removed }),
    ...(failed.length === 0 ? {} : { failed }),
  };
};

const filesList = async (
  request: Request<SetupContext>,
  { agentId }: GatewayParams<'agents.files.list'>,
) => ({
  agentId,
  ...(await ownAgentsOf(request).agents.files(agentId)),
});

const filesGet = async (
  request: Request<SetupContext>,
  params: GatewayParams<'agents.files.get'>,
) => {
  const { agentId, name } = params;
  return { agentId, ...(await ownAgentsOf(request).agents.file(agentId, name)) };
};

const filesSet = async (
  request: Request<SetupContext>,
  params: GatewayParams<'agents.files.set'>,
) => {
  const { agentId, name, content } = params;
  return {
    ok: true,
    agentId,
    ...(await ownAgentsOf(request).agents.write(agentId, name, content)),
  };
};

const identityGet = (
  request: Request<SetupContext>,
  params: GatewayParams<'agent.identity.get'>,
) => {
  const { agentId } = namedSession(request, params);
  const card = cards(request).find(({ id }) => id === agentId);
  const { name, emoji, avatar } = card ?? {};
  return {
    agentId,
    name: name ?? agentId,
    nameSource: name === undefined ? 'default' : 'config',
    avatar: avatar ?? emoji ?? (name ?? agentId).slice(0, 1).toUpperCase(),
    ...defined({ emoji }),
  };
};

const modelsList = (
  request: Request<SetupContext>,
  { view = 'default' }: GatewayParams<'models.list'>,
) => ({
  models: setupOf(request).catalogs.models(view),
});

const modelsAuthStatus = (request: Request<SetupContext>) => ({
  ts: request.context.clock.wallMs(),
  providers: setupOf(request)
    .catalogs.providers()
    .map(({ provider, profiles, usable }) => {
      const status = usable ? 'static' : 'missing';
      return {
        provider,
        displayName: provider,
        status,
        profiles: profiles.map((profileId) => ({ profileId, type: 'api_key', status })),
      };
    }),
});

const skillsStatus = async (
  request: Request<SetupContext>,
  params: GatewayParams<'skills.status'>,
) => {
  const { agentId } = namedSession(request, params);
  const { workspace, shared, skills } = await ownAgentsOf(request).catalogs.skills(agentId);
  return { workspaceDir: workspace, managedSkillsDir: shared, agentId, skills };
};

const toolsCatalog = (request: Request<SetupContext>, params: GatewayParams<'tools.catalog'>) => ({
  agentId: namedSession(request, params).agentId,
  // Troupe's policies are lists of tool names and groups; the protocol requires a profile.
  profiles: [{ id: 'full', label: 'Full' }],
  groups: setupOf(request).catalogs.tools(),
});

const toolsEffective = async (
  request: Request<SetupContext>,
  params: GatewayParams<'tools.effective'>,
) => {
  const { agentId, sessionKey } = namedSession(request, params);
  const { catalogs } = setupOf(request);
  const tools = await catalogs.toolsOf(agentId, sessionKey);
  return {
    agentId,
    // The protocol has no field for the boundary; its clients show the profile as text.
    profile: (await catalogs.isSandboxed(agentId, sessionKey)) ? 'sandbox' : 'full',
    groups: [
      {
        id: 'core',
        label: 'Tools',
        source: 'core',
        tools: tools.map(({ id, label, description }) => ({
          id,
          label,
          description,
          rawDescription: description,
          source: 'core',
        })),
      },
    ],
  };
};

/** The category under which OpenClaw's clients list a command. */
const CATEGORIES: Readonly<Record<string, 'session' | 'options' | 'status'>> = {
  new: 'session',
  reset: 'session',
  stop: 'session',
  compact: 'session',
  status: 'status',
  usage: 'status',
  help: 'status',
};

export const commandsList = () => ({
  commands: COMMANDS.map(({ name, args, does }) => ({
    name,
    nativeName: name,
    textAliases: [`/${name}`],
    description: does,
    category: CATEGORIES[name] ?? 'options',
    source: 'native',
    scope: 'both',
    acceptsArgs: args !== '',
  })),
});

export const setupTable: MethodTable<SetupContext> = [
  published('agents.list', agentsList),
  published('agents.create', agentsCreate),
  published('agents.update', agentsUpdate),
  published('agents.delete', agentsDelete),
  published('agents.files.list', filesList),
  published('agents.files.get', filesGet),
  published('agents.files.set', filesSet),
  published('agent.identity.get', identityGet),
  published('models.list', modelsList),
  published('models.authStatus', modelsAuthStatus),
  published('skills.status', skillsStatus),
  published('tools.catalog', toolsCatalog),
  published('tools.effective', toolsEffective),
  published('commands.list', commandsList),
  published('config.get', (request) => installationOf(request).config.get()),
  published('config.set', (request, params) =>
    installationOf(request).config.set(params, principalOf(request).sub),
  ),
  published('config.patch', (request, params) =>
    installationOf(request).config.patch(params, principalOf(request).sub),
  ),
  published('config.apply', (request, params) =>
    installationOf(request).config.set(params, principalOf(request).sub),
  ),
  published('config.schema', (request) => setupOf(request).config.schema()),
  published('config.schema.lookup', (request, { path }) => setupOf(request).config.lookup(path)),
];
