/**
 * Creates, changes and retires agents of a running troupe for operators (`agents.*`).
 *
 * In a single process the configuration file determines the agents at every start: a change is
 * written there first and then sent to the root. In a cluster the root's journaled settings
 * determine them, and files only seed them: there the change is sent to the root only. Either way
 * the change survives a restart, and nothing else overwrites it.
 *
 * One editor per tenant. A tenant that inherits the agents of the installation sees them here and
 * cannot change them (`channels/gateway/methods/setup.ts` refuses it).
 */
import { isDeepStrictEqual } from 'node:util';
import type { AgentCard, AgentSetup, RemovedFiles } from '../../channels/index.ts';
import type { AgentRow, AgentSettings } from '../../protocols/agent.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import type {
  AgentsCreateParams,
  AgentsDeleteParams,
  AgentsUpdateParams,
} from '../../protocols/gateway/index.ts';
import {
  type AgentConfig,
  type Config,
  type ResolvedAgent,
  resolveAgents,
  tenantConfig,
} from '../../runtime/config/index.ts';
import { setAt, valueAt } from '../../runtime/config/pointer.ts';
import type { RootRow } from '../../protocols/supervision.ts';
import type { System } from '../../runtime/index.ts';
import { settingsOf } from '../agent-settings.ts';
import { DEFAULT_TENANT } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import { currentSettings, START_MS, startRootWithSettings } from '../root-settings.ts';
import type { AgentFolders } from './agent-folders.ts';
import type { ConfigEditor } from './config-editor.ts';
import { textOf } from './config-file.ts';
import type { ConfigFile } from './config-file.ts';

export type AgentEditorOptions = {
  readonly system: Pick<System, 'ask' | 'index'>;
  readonly tenant: string;
  /** the installation's */
  readonly running: Config;
  readonly fallbackModel: string;
  /** @throws TroupeError for an unknown name */
  readonly checkModel: (name: string) => void;
  /** In a cluster, the changed configuration: tenants that inherit these agents receive it. */
  readonly onChange: (config: Config) => Promise<void>;
  readonly folders: AgentFolders;
  readonly file: ConfigFile;
  readonly desk: ConfigEditor;
  /** files only set the initial agents */
  readonly clustered: boolean;
  /** wall milliseconds */
  readonly now: () => number;
};

/** Maximum age of the shown state. */
const CARDS_MS = 1_000;
const AGENTS_MAX = 10_000;
const ID_CHARACTERS_MAX = 63;
const AVATAR_CHARACTERS_MAX = 100_000;

/** The agent of a change, and who changes it. */
type Changed = { readonly agentId: string; readonly by: string; readonly isRemoved?: boolean };
type Entry = Partial<AgentConfig> & { readonly id: string };

export class AgentEditor implements Omit<AgentSetup, 'files' | 'file' | 'write'> {
  readonly #o: AgentEditorOptions;
  #cards: { readonly at: number; readonly cards: readonly AgentCard[] } | undefined;
  /** changes run one after the other */
  #last: Promise<unknown> = Promise.resolve();
  #config: Config;

  constructor(options: AgentEditorOptions) {
    this.#o = options;
    this.#config = options.running;
  }

  cards(): readonly AgentCard[] {
    const { now } = this.#o;
    if (this.#cards === undefined || Math.abs(now() - this.#cards.at) >= CARDS_MS) {
      this.#cards = { at: now(), cards: this.#look() };
    }
    return this.#cards.cards;
  }

  create(params: AgentsCreateParams, by: string): Promise<AgentCard> {
    const id = idOf(params.name);
    refuseWorkspace(params);
    return this.#inTurn(async () => {
      if (this.#look().some((card) => card.id === id)) {
        throw new TroupeError('CONFLICT', `agent ${id} already exists: use another name`);
      }
      const shown = this.#o.clustered || params.name === id ? { ...params, name: '' } : params;
      await this.#change((entries) => [...entries, entryOf({ id }, shown)], { agentId: id, by });
      return this.#cardOf(id);
    });
  }

  update(params: AgentsUpdateParams, by: string): Promise<void> {
    const { agentId } = params;
    refuseWorkspace(params);
    return this.#inTurn(async () => {
      this.#cardOf(agentId);
      await this.#change(
        (entries) => {
          const known = entries.some(({ id }) => id === agentId);
          const all = known ? entries : [...entries, { id: agentId }];
          return all.map((entry) => (entry.id === agentId ? entryOf(entry, params) : entry));
        },
        { agentId, by },
      );
    });
  }

  remove({ agentId, deleteFiles = false }: AgentsDeleteParams, by: string): Promise<RemovedFiles> {
    return this.#inTurn(async () => {
      this.#cardOf(agentId);
      if (this.#agents().some(({ id, isDefault }) => id === agentId && isDefault)) {
        throw new TroupeError(
          'FORBIDDEN',
          `${agentId} is the default agent: make another one the default first`,
        );
      }
      await this.#change((entries) => entries.filter(({ id }) => id !== agentId), {
        agentId,
        by,
        isRemoved: true,
      });
      return deleteFiles ? this.#o.folders.discard(agentId) : { removed: [], failed: [] };
    });
  }

  /** The installation's file was changed: shows the agents that it names now. */
  configured(config: Config): void {
    this.#config = config;
    this.#cards = undefined;
  }

  #agents(): readonly ResolvedAgent[] {
    return resolveAgents(tenantConfig(this.#config, this.#o.tenant));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work);
    this.#last = next.catch(() => {});
    return next.finally(() => (this.#cards = undefined));
  }

  async #change(
    entries: (before: readonly Entry[]) => readonly Entry[],
    changed: Changed,
  ): Promise<void> {
    const { clustered, tenant } = this.#o;
    if (clustered) return this.#changeSettings(entries, changed);
    const written = this.#changeFile(entries, changed.by);
    await (tenant === DEFAULT_TENANT ? written : written.catch((error) => throwFor(tenant, error)));
  }

  async #changeFile(
    entries: (before: readonly Entry[]) => readonly Entry[],
    by: string,
  ): Promise<void> {
    const { file, desk, tenant } = this.#o;
    const { hash } = file.read();
    const section = tenant === DEFAULT_TENANT ? '/agents' : `/tenants/${tenant}/agents`;
    await desk.write(
      hash ?? undefined,
      ({ document }) => {
        const isNamedList = valueAt(document, `${section}/list`) !== undefined;
        const pointer = `${section}/${isNamedList ? 'list' : 'agents'}`;
        const listed = valueAt(document, pointer) as readonly Entry[] | undefined;
        // A file without agents means one default agent: adding another one keeps it.
        const before = listed?.length ? listed : this.#agents().map(({ id }) => ({ id }));
        const next = structuredClone(document);
        setAt(next, pointer, entries(before));
        return textOf(next);
      },
      by,
    );
  }

  /** A concurrent change of another gateway may win; then this one is repeated. */
  async #changeSettings(
    entries: (before: readonly Entry[]) => readonly Entry[],
    { agentId, by, isRemoved = false }: Changed,
  ): Promise<void> {
    const { system, tenant, checkModel } = this.#o;
    const { agents } = tenantConfig(this.#config, tenant);
    const known = agents.agents.find(({ id }) => id === agentId);
    const entry = entries(known === undefined ? [] : [known]).find(({ id }) => id === agentId);
    if (entry?.identity !== undefined && !isDeepStrictEqual(entry.identity, known?.identity)) {
      throw new TroupeError(
        'INVALID_ARGUMENT',
        'in a cluster the name, emoji and avatar of an agent are in the files of its gateways ' +
          '(agents.agents[].identity): change them there',
      );
    }
    if (entry?.model !== undefined) checkModel(entry.model);
    const others = agents.agents.filter(({ id }) => id !== agentId);
    const list = (entry === undefined ? others : [...others, entry]) as Config['agents']['agents'];
    const config = withAgents(this.#config, tenant, { ...agents, agents: list });
    const own = resolveAgents(tenantConfig(config, tenant)).find(({ id }) => id === agentId);
    for (let tries = 1; tries <= 3; tries++) {
      const before = await currentSettings(system, tenant);
      const rest = before.filter((one) => one.agentId !== agentId);
      const after: readonly AgentSettings[] =
        isRemoved || own === undefined ? rest : [...rest, settingsOf(own)];
      await startRootWithSettings(system, after, START_MS, { tenant, by });
      const now = await currentSettings(system, tenant);
      if (now.some((one) => one.agentId === agentId) !== isRemoved) {
        return this.#o.onChange(config);
      }
    }
    throw new TroupeError(
      'CONFLICT',
      'another client changed the agents at the same time: read agents.list, and try again',
    );
  }

  /** @throws TroupeError NOT_FOUND */
  #cardOf(agentId: string): AgentCard {
    const found = this.#look().find(({ id }) => id === agentId);
    if (found) return found;
    throw new TroupeError('NOT_FOUND', `unknown agent id "${agentId.slice(0, 80)}"`, {
      details: { code: 'UNKNOWN_AGENT_ID' },
    });
  }

  /**
   * The agents by their committed rows. While a cluster starts, some agents have no rows yet. Until
   * the rows reach the root's number of agents, the configuration supplies the others.
   */
  #look(): readonly AgentCard[] {
    const { system, tenant, fallbackModel, folders } = this.#o;
    const { agents } = tenantConfig(this.#config, tenant).agents;
    const known = new Map(this.#agents().map((agent) => [agent.id, agent]));
    const identities = new Map(agents.map(({ id, identity = {} }) => [id, identity]));
    const rows = system.index.list<AgentRow>('agents', tenant, { limit: AGENTS_MAX });
    const active = new Map(
      rows.flatMap(({ value }) => (value.status === 'retired' ? [] : [[value.agentId, value]])),
    );
    const retired = new Set(
      rows.flatMap(({ value: { agentId, status } }) => (status === 'retired' ? [agentId] : [])),
    );
    const root = system.index.get<RootRow>('cluster', tenant, 'root');
    const isComplete = root !== undefined && active.size >= root.agents;
    // In the order of the configuration, followed by agents that only the cluster has.
    const ids = [...known.keys()].filter(
      (id) => active.has(id) || (!isComplete && !retired.has(id)),
    );
    const more = [...active.keys()].filter((id) => !known.has(id));
    return [...ids, ...more].map((id) => {
      const { fallbacks = [], thinkingLevel, model } = known.get(id) ?? {};
      return {
        id,
        model: active.get(id)?.model ?? model ?? fallbackModel,
        fallbacks,
        ...defined({ thinking: thinkingLevel }),
        workspace: folders.nameOf(id),
        ...identities.get(id),
      };
    });
  }
}

/**
 * A problem elsewhere in the file is not shown to operators of a tenant.
 * @throws TroupeError always
 */
const throwFor = (tenant: string, error: unknown): never => {
  const { code, details, retryAfterMs } = errorData(error);
  const issues = (details?.['issues'] ?? []) as readonly { path: string; message: string }[];
  const own = issues.filter(({ path }) => path.startsWith(`tenants.${tenant}.`));
  if (own.length > 0) {
    const message = own.map(({ path, message: why }) => `${path}: ${why}`).join('; ');
    throw new TroupeError('INVALID_ARGUMENT', message, { details: { issues: own } });
  }
  if (code === 'CONFLICT') throw error;
  throw new TroupeError(
    'UNAVAILABLE',
    'the configuration of the installation cannot be changed now: ask its operator',
    { cause: error, ...defined({ retryAfterMs }) },
  );
};

/** The installation's configuration with changed agents of one tenant. */
const withAgents = (config: Config, tenant: string, agents: Config['agents']): Config => {
  const own = config.tenants[tenant];
  if (tenant === DEFAULT_TENANT || own === undefined) return { ...config, agents };
  return { ...config, tenants: { ...config.tenants, [tenant]: { ...own, agents } } };
};

/** @throws TroupeError INVALID_ARGUMENT for a name from which no id can be derived */
const idOf = (name: string): string => {
  const id = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replaceAll(/^[-_]+|-+$/g, '')
    .slice(0, ID_CHARACTERS_MAX);
  if (id !== '') return id;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    '/name contains no letter or digit for an id (a to z, 0 to 9)',
  );
};

/** @throws TroupeError INVALID_ARGUMENT */
const refuseWorkspace = ({ workspace }: { readonly workspace?: string }): void => {
  if (workspace === undefined) return;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    '/workspace: a folder is named in the configuration file (agents.agents[].workspace): leave it out',
  );
};

/** Its display settings are in `identity`, its name too; an empty text removes one. */
const entryOf = (
  { name: nameBefore, ...entry }: Entry,
  { name, model, emoji, avatar }: Omit<AgentsUpdateParams, 'agentId'>,
): Entry => {
  if ((avatar?.length ?? 0) > AVATAR_CHARACTERS_MAX) {
    throw new TroupeError('PAYLOAD_TOO_LARGE', '/avatar is longer than 100,000 characters');
  }
  const given = Object.entries({ name, emoji, avatar }).filter(([, text]) => text !== undefined);
  const identity = Object.fromEntries(
    Object.entries({
      ...defined({ name: nameBefore }),
      ...entry.identity,
      ...Object.fromEntries(given),
    }).filter(([, one]) => one),
  );
  const { model: before, identity: _, ...rest } = entry;
  const chosen = model === undefined ? before : (model ?? undefined);
  return {
    ...rest,
    ...defined({ model: chosen }),
    ...(Object.keys(identity).length === 0 ? {} : { identity }),
  };
};
