/**
 * The MCP servers of a configuration: their connections, their lists of tools, and the tools that
 * agents have of them.
 *
 * Invariants: no server prevents a start; tools of a server that cannot be reached are those of its
 * last list. A tenant uses connections of its own, so no process of a server has two tenants. The
 * order of the tools depends only on their names.
 */
import { errorData, TroupeError } from '../../protocols/errors.ts';
import type { RemoteCaller } from '../../protocols/remote-call.ts';
import type { McpServerConfig } from '../../runtime/config/index.ts';
import type { Clock } from '../../runtime/index.ts';
import type { ToolSource } from '../tools/registry.ts';
import type { SecretMask } from '../tools/secret-mask.ts';
import type { Tool } from '../tools/tool.ts';
import { type AgentTools, agentTools } from './agent-tools.ts';
import { createMcpCaller } from './caller.ts';
import type { Boundaries } from './connection.ts';
import { type LeftOut, listedTools, type ToolList } from './listed-tools.ts';
import { McpServer, type McpServerState } from './server.ts';

/** How long a list is used when its server says nothing, milliseconds. Only of HTTP servers. */
const LIST_MS = 600_000;
const LIST_MS_MIN = 30_000;
const LIST_MS_MAX = 86_400_000;
/** Waits after failed lists, milliseconds. */
const RETRY_MS = { first: 1_000, max: 300_000 };
const LEFT_OUT_MAX = 100;

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
  readonly secrets: SecretMask;
  readonly report: (report: McpReport) => void;
  readonly idleMs?: number;
};

/** A server and its latest list, for operators. */
export type McpServerRow = McpServerState & {
  readonly name: string;
  readonly enabled: boolean;
  /** names of the tools that agents have */
  readonly tools: readonly string[];
  readonly leftOut: readonly LeftOut[];
  /** of the latest list, epoch milliseconds; absent: none was read */
  readonly listedAt?: number;
  /** why the latest list could not be read */
  readonly problem?: string;
};

export type FreshList = ToolList & {
  /** how long the server says that it is valid */
  readonly ttlMs?: number;
};

type Listed = AgentTools & {
  readonly at?: number;
  readonly problem?: string;
  readonly failures: number;
  readonly cancel: () => void;
};

const NOTHING: Listed = {
  tools: [],
  leftOut: [],
  checks: new Map(),
  failures: 0,
  cancel: () => {},
};

export class McpServers implements ToolSource {
  readonly caller: RemoteCaller;
  readonly #o: McpServersOptions;
  readonly #names: readonly string[];
  /** by tenant and name */
  readonly #servers = new Map<string, McpServer>();
  readonly #removed = new Map<string, LeftOut[]>();
  readonly #listed = new Map<string, Listed>();
  readonly #listing = new Map<string, Promise<void>>();
  #tools: readonly Tool[] = [];
  #isClosed = false;

  constructor(options: McpServersOptions) {
    this.#o = options;
    this.#names = Object.keys(options.servers).sort();
    this.caller = createMcpCaller({
      secrets: options.secrets,
      serverOf: (tenant, name) => this.#serverOf(tenant, name),
    });
  }

  /** The same array until a list changes. */
  tools(): readonly Tool[] {
    return this.#tools;
  }

  rows(): readonly McpServerRow[] {
    return this.#names.map((name) => {
      const { tools, leftOut, at, problem } = this.#listed.get(name) ?? NOTHING;
      const server = this.#servers.get(keyOf(this.#o.tenant, name));
      return {
        name,
        enabled: this.#o.servers[name]!.enabled,
        ...(server?.state() ?? { state: 'closed' }),
        tools: tools.map((tool) => tool.name),
        leftOut,
        ...(at !== undefined && { listedAt: at }),
        ...(problem !== undefined && { problem }),
      };
    });
  }

  /** Reads the lists of all enabled servers, in the background. */
  start(): void {
    for (const name of this.#names) if (this.#o.servers[name]!.enabled) void this.refresh(name);
  }

  /** Reads the list of a server now. Never rejects: the outcome is in `rows`. */
  refresh(name: string): Promise<void> {
    const listing =
      this.#listing.get(name) ?? this.#refresh(name).finally(() => void this.#listing.delete(name));
    this.#listing.set(name, listing);
    return listing;
  }

  /** Reads the list of a server. @throws TroupeError NOT_FOUND, UNAVAILABLE; errors of the SDK */
  async list(name: string): Promise<FreshList> {
    const server = this.#serverOf(this.#o.tenant, name);
    this.#removed.delete(name);
    return server.use(async (client) => {
      if (!client.getServerCapabilities()?.tools) return { tools: [], leftOut: [] };
      const { tools, ttlMs } = await client.listTools(undefined, { cacheMode: 'refresh' });
      const { tools: filter } = server.config;
      const { tools: kept, leftOut } = listedTools(name, tools, filter);
      const all = [...(this.#removed.get(name) ?? []), ...leftOut].slice(0, LEFT_OUT_MAX);
      return { tools: kept, leftOut: all, ...(typeof ttlMs === 'number' && { ttlMs }) };
    });
  }

  /** Closes all connections permanently. May be repeated. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { cancel } of this.#listed.values()) cancel();
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  async #refresh(name: string): Promise<void> {
    const former = this.#listed.get(name) ?? NOTHING;
    former.cancel();
    try {
      const { tools: listed, leftOut, ttlMs } = await this.list(name);
      const made = await agentTools(name, listed, this.#o.servers[name]!, former.checks);
      const cancel = this.#later(name, this.#lifetimeOf(name, ttlMs));
      const all = [...leftOut, ...made.leftOut].slice(0, LEFT_OUT_MAX);
      const at = this.#o.clock.wallMs();
      this.#listed.set(name, { ...made, leftOut: all, at, failures: 0, cancel });
      this.#tools = this.#names.flatMap((one) => this.#listed.get(one)?.tools ?? []);
    } catch (error) {
      const failures = former.failures + 1;
      const waitMs = Math.min(RETRY_MS.max, RETRY_MS.first * 2 ** (failures - 1));
      const problem = this.#o.secrets.text(errorData(error).message);
      const cancel = this.#later(name, waitMs);
      this.#listed.set(name, { ...former, problem, failures, cancel });
    }
  }

  /** A process announces changes while it runs, and is not started to ask for them. */
  #lifetimeOf(name: string, ttlMs: number | undefined): number | undefined {
    if (this.#o.servers[name]!.url === undefined) return undefined;
    return Math.min(LIST_MS_MAX, Math.max(LIST_MS_MIN, ttlMs ?? LIST_MS));
  }

  #later(name: string, delayMs: number | undefined): () => void {
    if (delayMs === undefined || this.#isClosed) return () => {};
    return this.#o.clock.after(delayMs, () => void this.refresh(name));
  }

  /** @throws TroupeError NOT_FOUND */
  #serverOf(tenant: string, name: string): McpServer {
    const { servers, secrets, report, tenant: own } = this.#o;
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
      onPrint: (line) => tell('output', line),
      onFailure: (why) => tell('failure', why),
      onToolsChanged: () => void this.refresh(name),
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
