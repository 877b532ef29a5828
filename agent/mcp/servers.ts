/**
 * The MCP servers of a configuration: their connections, their lists of tools, and the tools that
 * agents have of them.
 *
 * Boundary: the actor `mcp-server` decides when a list is read, and stores it.
 *
 * Invariants: no server prevents a start; tools of a server that cannot be reached are those of its
 * stored list. A tenant uses connections of its own, so no process of a server has two tenants. The
 * order of the tools depends only on their names.
 */
import type { Client } from '@modelcontextprotocol/client';
import { TroupeError } from '../../protocols/errors.ts';
import type {
  FreshToolList,
  LeftOut,
  McpServerRow,
  McpToolsRow,
} from '../../protocols/mcp-server.ts';
import type { RemoteCaller } from '../../protocols/remote-call.ts';
import type { McpServerConfig } from '../../runtime/config/index.ts';
import type { Clock } from '../../runtime/index.ts';
import type { ToolSource } from '../tools/registry.ts';
import type { GrowingMask } from '../tools/growing-mask.ts';
import type { Tool } from '../tools/tool.ts';
import { type AgentTools, agentTools } from './agent-tools.ts';
import { createMcpCaller } from './caller.ts';
import type { Boundaries } from './connection.ts';
import { listedTools } from './listed-tools.ts';
import { isLoginFailure } from './oauth/login-failure.ts';
import type { LoginStore } from './oauth/login-store.ts';
import { LoginWatch } from './oauth/login-watch.ts';
import { mayLogIn, ServerLogin } from './oauth/server-login.ts';
import { McpServer, type McpServerState } from './server.ts';

/** How long a list is used when its server says nothing, milliseconds. */
const LIST_MS = 600_000;
const LIST_MS_MIN = 30_000;
/** Also of processes, which announce changes, and are not started often to ask for them. */
const LIST_MS_MAX = 86_400_000;
const LEFT_OUT_MAX = 100;
/** How long a call waits for the stored lists at a start, milliseconds. */
const READY_MS = 10_000;

/** What a server printed, or why it failed. */
export type McpReport = {
  readonly server: string;
  readonly tenant: string;
  readonly text: string;
  readonly kind: 'output' | 'failure';
};

export type McpServersOptions = {
  readonly servers: Readonly<Record<string, McpServerConfig>>;
  /** whose connections read the lists */
  readonly tenant: string;
  readonly boundaries: Boundaries;
  readonly clock: Clock;
  readonly version: string;
  /** receives the tokens of logins */
  readonly secrets: GrowingMask;
  readonly report: (report: McpReport) => void;
  readonly idleMs?: number;
  /** where logins are kept; default: servers have none */
  readonly logins?: (tenant: string, server: string) => LoginStore;
};

/** The stored lists, and where a new one is requested. */
export type StoredLists = {
  /** Resolves when the stored list of the server can be read in this process. */
  readable(name: string): Promise<void>;
  row(name: string): McpServerRow | undefined;
  tools(name: string): McpToolsRow | undefined;
  refresh(name: string): void;
};

type Made = AgentTools & { readonly revision: number };

export class McpServers implements ToolSource {
  readonly caller: RemoteCaller;
  readonly #o: McpServersOptions;
  readonly #names: readonly string[];
  /** by tenant and name */
  readonly #servers = new Map<string, McpServer>();
  readonly #removed = new Map<string, LeftOut[]>();
  readonly #made = new Map<string, Made>();
  readonly #making = new Map<string, Promise<void>>();
  #stored: StoredLists | undefined;
  #onStored: () => void = () => {};
  readonly #isStored: Promise<void>;
  #isReadable: Promise<void> | undefined;
  readonly #logins = new Map<string, ServerLogin>();
  readonly #watch: LoginWatch;
  #tools: readonly Tool[] = [];
  #isClosed = false;

  constructor(options: McpServersOptions) {
    this.#o = options;
    const enabled = Object.entries(options.servers).filter(([, { enabled: is }]) => is);
    this.#names = enabled.map(([name]) => name).sort();
    this.#isStored = new Promise((resolve) => (this.#onStored = resolve));
    this.#watch = new LoginWatch(options.clock);
    this.caller = createMcpCaller({
      secrets: options.secrets,
      serverOf: (tenant, name) => this.#serverOf(tenant, name),
      toolOf: (server, name) =>
        this.#stored?.tools(server)?.tools.find(({ serverName }) => serverName === name),
    });
  }

  /** Uses the lists of a system from now on. `refreshes`: requests new ones, as workers do. */
  open(stored: StoredLists, refreshes: boolean): void {
    this.#stored = stored;
    this.#onStored();
    // A command may print a login before its server is used.
    for (const name of this.#names)
      void this.login(name)
        ?.state()
        .catch(() => {});
    if (refreshes) for (const name of this.#names) stored.refresh(name);
  }

  /** The same array until a list changes. A changed list is used when its schemas are compiled. */
  tools(): readonly Tool[] {
    void Promise.all(this.#updates());
    return this.#tools;
  }

  async ready(): Promise<void> {
    if (this.#names.length === 0) return;
    let cancel: () => void = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.#o.clock.after(READY_MS, resolve);
    });
    const all = this.#readable().then(() => Promise.all(this.#updates()));
    await Promise.race([all, late]);
    cancel();
  }

  /** A worker of a cluster copies the rows of others when they are first needed. Never rejects. */
  #readable(): Promise<void> {
    this.#isReadable ??= this.#isStored
      .then(() => Promise.all(this.#names.map((name) => this.#stored!.readable(name))))
      .then(
        () => {},
        () => void (this.#isReadable = undefined),
      );
    return this.#isReadable;
  }

  /** Reads the list of a server. @throws TroupeError NOT_FOUND, UNAVAILABLE */
  async list(name: string): Promise<FreshToolList> {
    const server = this.#serverOf(this.#o.tenant, name);
    this.#removed.delete(name);
    try {
      return await server.use((client) => this.#listOf(server, client));
    } catch (error) {
      this.#awaitLogin(name, error);
      if (error instanceof TroupeError) throw error;
      const message = `the MCP server ${name}: ${server.messageOf(error)}`;
      throw new TroupeError('UNAVAILABLE', message);
    }
  }

  /** The login of a server for a tenant; undefined where it has none. */
  login(name: string, tenant = this.#o.tenant): ServerLogin | undefined {
    const { servers, logins, clock } = this.#o;
    const config = servers[name];
    if (!logins || !config || !mayLogIn(config)) return undefined;
    const key = keyOf(tenant, name);
    const login =
      this.#logins.get(key) ??
      new ServerLogin({
        name,
        tenant,
        config,
        clock,
        store: logins(tenant, name),
        onSecrets: this.#o.secrets.add,
      });
    this.#logins.set(key, login);
    return login;
  }

  /** The states of the connections of one tenant. */
  states(tenant = this.#o.tenant): Readonly<Record<string, McpServerState>> {
    const states = this.#names.map((name) => {
      const server = this.#servers.get(keyOf(tenant, name));
      return [name, server?.state() ?? { state: 'closed' as const }] as const;
    });
    return Object.fromEntries(states);
  }

  /** Closes all connections permanently. May be repeated. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#watch.close();
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  async #listOf(server: McpServer, client: Client): Promise<FreshToolList> {
    const { name, config } = server;
    const lifetimeMs = (ttlMs: number) => Math.min(LIST_MS_MAX, Math.max(LIST_MS_MIN, ttlMs));
    if (!client.getServerCapabilities()?.tools)
      return { tools: [], leftOut: [], lifetimeMs: LIST_MS_MAX };
    const { tools, ttlMs } = await client.listTools(undefined, { cacheMode: 'refresh' });
    const { tools: listed, leftOut } = listedTools(name, tools, config.tools);
    const { tools: usable, leftOut: faulty } = await agentTools(name, listed, config);
    const names = new Set(usable.map((tool) => tool.name));
    const removed = this.#removed.get(name) ?? [];
    return {
      tools: listed.filter((tool) => names.has(tool.name)),
      leftOut: [...removed, ...leftOut, ...faulty].slice(0, LEFT_OUT_MAX),
      lifetimeMs:
        config.url === undefined
          ? LIST_MS_MAX
          : lifetimeMs(typeof ttlMs === 'number' ? ttlMs : LIST_MS),
    };
  }

  /** Requests the list again as soon as there is a login. */
  #awaitLogin(name: string, error: unknown): void {
    const login = this.login(name);
    if (!login || this.#isClosed || !isLoginFailure(error)) return;
    this.#watch.until(name, login, () => this.#stored?.refresh(name));
  }

  /** Of all lists that have changed. */
  #updates(): readonly Promise<void>[] {
    return this.#names.flatMap((name) => this.#update(name) ?? []);
  }

  /** Makes the tools of a list that has changed. */
  #update(name: string): Promise<void> | undefined {
    if (this.#isClosed) return undefined;
    const revision = this.#stored?.row(name)?.revision;
    if (revision === undefined || revision === this.#made.get(name)?.revision) return undefined;
    const making =
      this.#making.get(name) ??
      this.#make(name, revision).finally(() => void this.#making.delete(name));
    this.#making.set(name, making);
    return making;
  }

  async #make(name: string, revision: number): Promise<void> {
    const listed = this.#stored?.tools(name)?.tools ?? [];
    const { checks } = this.#made.get(name) ?? {};
    const made = await agentTools(name, listed, this.#o.servers[name]!, checks);
    this.#made.set(name, { ...made, revision });
    this.#tools = this.#names.flatMap((one) => this.#made.get(one)?.tools ?? []);
  }

  /** @throws TroupeError NOT_FOUND */
  #serverOf(tenant: string, name: string): McpServer {
    const { servers, report, secrets, tenant: own } = this.#o;
    const config = Object.hasOwn(servers, name) ? servers[name]! : undefined;
    if (!config?.enabled)
      throw new TroupeError('NOT_FOUND', `no MCP server ${name} is configured and enabled`);
    const key = keyOf(tenant, name);
    const known = this.#servers.get(key);
    if (known) return known;
    const tell = (kind: McpReport['kind'], text: string) =>
      report({ server: name, tenant, kind, text: secrets.text(text) });
    const server = new McpServer({
      ...this.#o,
      name,
      config,
      login: this.login(name, tenant),
      onPrint: (line) => tell('output', line),
      onFailure: (why) => tell('failure', why),
      onToolsChanged: () => this.#stored?.refresh(name),
      onRemovedTool: (tool, why) => {
        if (tenant !== own) return;
        const removed = this.#removed.get(name) ?? [];
        if (removed.length < LEFT_OUT_MAX) removed.push({ name: tool.slice(0, 100), why });
        this.#removed.set(name, removed);
      },
    });
    this.#servers.set(key, server);
    return server;
  }
}

const keyOf = (tenant: string, name: string): string => `${tenant}/${name}`;
