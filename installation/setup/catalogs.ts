/**
 * Lists the models, tools and skills of this installation for operators (`models.*`, `tools.*`,
 * `skills.status`).
 */
import { basename, dirname, join } from 'node:path';
import type { ModelCatalog } from '../../agent/models/catalog.ts';
import { confinementOf } from '../../agent/policy/confinement.ts';
import { refusals } from '../../agent/policy/lists.ts';
import { AgentFiles, SHARED_SKILLS_PATH } from '../../agent/prompt/agent-files.ts';
import type { Skill } from '../../agent/prompt/skill.ts';
import type { ToolRegistry } from '../../agent/tools/registry.ts';
import type { Tool } from '../../agent/tools/tool.ts';
import type { Catalogs, ModelProviderState } from '../../channels/index.ts';
import type { AgentSettings } from '../../protocols/agent.ts';
import { defined } from '../../protocols/defined.ts';
import type { ModelChoice, SkillStatus, ToolGroup } from '../../protocols/gateway/index.ts';
import type { Config } from '../../runtime/config/index.ts';
import type { Workspaces } from '../../runtime/workspaces/workspaces.ts';
import { skillsFolderOf } from '../skills-folder.ts';

export type CatalogsOptions = {
  readonly tenant: string;
  /** the tenant's configuration */
  readonly config: Config;
  /** the folder of shared skills is the installation's; the tenant does not see its path */
  readonly inheritsSkills: boolean;
  readonly catalog: ModelCatalog;
  readonly tools: ToolRegistry;
  readonly workspaces: Workspaces;
  /** models that the present agents name */
  readonly inUse: () => readonly string[];
  /** the present settings of an agent @throws TroupeError NOT_FOUND */
  readonly settingsOf: (agentId: string) => Promise<AgentSettings>;
  readonly workspaceName: (agentId: string) => string;
  /** wall milliseconds */
  readonly now: () => number;
};

export const createCatalogs = (options: CatalogsOptions): Catalogs => {
  const { config, catalog, tools, workspaces, now, tenant, inheritsSkills } = options;
  const skillsFolder = skillsFolderOf(config);
  const files = new AgentFiles({ skillsFolder, skillsEnv: config.skills.env });
  return {
    models: (view) => modelsOf(view, options),
    providers: () => providersOf(catalog, config),
    tools: () => groupsOf(tools.all()),
    async toolsOf(agentId, sessionKey) {
      const refused = refusals(await options.settingsOf(agentId), sessionKey);
      return tools
        .all()
        .filter((tool) => refused(tool) === undefined && tool.unavailable?.() === undefined)
        .map(entryOf);
    },
    async isSandboxed(agentId, sessionKey) {
      return confinementOf(await options.settingsOf(agentId), sessionKey).sandboxed;
    },
    async skills(agentId) {
      const peek = workspaces.peek.bind(workspaces);
      const { skills, problems } = await files.look(tenant, agentId, { peek, now });
      const shared = inheritsSkills ? SHARED_SKILLS_PATH : skillsFolder;
      const place = { workspace: options.workspaceName(agentId), shared };
      return {
        ...place,
        skills: [
          ...skills.map((skill) => skillOf(skill, place)),
          ...problems.map((problem) => leftOut(problem, place)),
        ],
      };
    },
  };
};

const modelsOf = (
  view: Parameters<Catalogs['models']>[0],
  { catalog, config, inUse }: CatalogsOptions,
): readonly ModelChoice[] => {
  const usable = catalog.names();
  const used = inUse();
  const ofProviders = new Set(Object.keys(config.models.providers));
  const all = catalog.providers.flatMap(({ id, models }) =>
    models.map((model) => `${id}/${model.id}`),
  );
  const names =
    view === 'all'
      ? [...all, ...used]
      : view === 'provider-config'
        ? all.filter((name) => ofProviders.has(name.slice(0, name.indexOf('/'))))
        : [...used, ...usable];
  return [...new Set(names)].map((name) => choiceOf(name, catalog, new Set(usable)));
};

const choiceOf = (
  name: string,
  catalog: ModelCatalog,
  usable: ReadonlySet<string>,
): ModelChoice => {
  const slash = name.indexOf('/');
  const [provider, id] = [name.slice(0, slash), name.slice(slash + 1)];
  const { model } = catalog.resolve(name);
  const isUsable = [...usable].some((one) => one.startsWith(`${provider}/`));
  return {
    id,
    name: id,
    provider,
    available: isUsable,
    ...(isUsable ? {} : { unavailableReason: 'missing-auth' }),
    contextWindow: model.contextWindow,
    ...defined({ reasoning: model.thinking }),
    input: model.images === false ? ['text'] : ['text', 'image'],
  };
};

/** A provider is usable if one of its models is. */
const providersOf = (catalog: ModelCatalog, config: Config): readonly ModelProviderState[] => {
  const usable = new Set(catalog.names().map((name) => name.slice(0, name.indexOf('/'))));
  return catalog.providers.map(({ id }) => {
    const { profiles = [] } = config.models.providers[id] ?? {};
    return {
      provider: id,
      profiles: usable.has(id) ? ['default', ...profiles.map((profile) => profile.id)] : [],
      usable: usable.has(id),
    };
  });
};

const entryOf = ({ name, description }: Tool): ToolGroup['tools'][number] => ({
  id: name,
  label: name,
  description,
  source: 'core',
  defaultProfiles: ['full'],
});

const groupsOf = (tools: readonly Tool[]): readonly ToolGroup[] => {
  const groups = new Map<string, Tool[]>();
  for (const tool of tools) {
    const group = tool.groups?.[0] ?? 'other';
    const list = groups.get(group);
    if (list === undefined) groups.set(group, [tool]);
    else list.push(tool);
  }
  return [...groups].map(([id, list]) => ({
    id,
    label: id,
    source: 'core',
    tools: list.map(entryOf),
  }));
};

type Place = { readonly workspace: string; readonly shared: string };
const NOTHING = { bins: [], anyBins: [], env: [], config: [], os: [] };

/** As the model sees it, with its real location. */
const realPath = (path: string, { workspace, shared }: Place): string =>
  path.startsWith(`${SHARED_SKILLS_PATH}/`)
    ? join(shared, path.slice(SHARED_SKILLS_PATH.length + 1))
    : join(workspace, path);

const statusOf = (path: string, place: Place) => {
  const filePath = realPath(path, place);
  return {
    source: path.startsWith(`${SHARED_SKILLS_PATH}/`) ? 'troupe-shared' : 'troupe-workspace',
    bundled: false,
    filePath,
    baseDir: dirname(filePath),
    always: false,
    disabled: false,
    missing: NOTHING,
  };
};

const skillOf = ({ name, description, path, env }: Skill, place: Place): SkillStatus => ({
  ...statusOf(path, place),
  name,
  description,
  skillKey: name,
  eligible: true,
  modelVisible: true,
  requirements: { ...NOTHING, env: [...env] },
});

/** `skills/name/SKILL.md: why` */
const leftOut = (problem: string, place: Place): SkillStatus => {
  const path = /^(\S+\/SKILL\.md): /.exec(problem)?.[1] ?? 'skills';
  const name = basename(dirname(path)) || 'skills';
  return {
    ...statusOf(path, place),
    name,
    description: problem,
    skillKey: name,
    eligible: false,
    modelVisible: false,
    requirements: NOTHING,
  };
};
