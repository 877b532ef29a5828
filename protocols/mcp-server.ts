/**
 * MCP servers whose tools agents have. An address is `{tenant}/mcp-server/{name}`; the actor reads
 * the list of tools and stores it, so all processes of a cell offer the same tools, also after a
 * restart and while the server cannot be reached.
 *
 *   worker ─ mcp-server.refresh ─▶ mcp-server   (no reply)
 */
import { type Address, address } from './address.ts';
import type { ErrorData } from './errors.ts';

/** One tool, as JSON. */
export type ListedTool = {
  /** for models: `mcp__SERVER__TOOL` */
  readonly name: string;
  /** as the server has it */
  readonly serverName: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** of structured results; absent: none was declared */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** declared: it changes nothing */
  readonly readOnly: boolean;
  /** declared: a repeated call changes nothing more */
  readonly idempotent: boolean;
};

/** A tool that agents do not have, and the reason. */
export type LeftOut = { readonly name: string; readonly why: string };

/** At most 256 KiB of schemas and descriptions. */
export type ToolList = {
  /** sorted by name */
  readonly tools: readonly ListedTool[];
  /** at most 100 of them */
  readonly leftOut: readonly LeftOut[];
};

export type FreshToolList = ToolList & {
  /** pause before the list is read again, milliseconds */
  readonly lifetimeMs: number;
};

/** From a worker that has started, or whose server has announced a change. */
export type McpServerRefresh = { readonly type: 'mcp-server.refresh' };

export const mcpServerAddress = (tenant: string, name: string): Address =>
  address(tenant, 'mcp-server', name);

/** Index `mcp-servers`, key: the name. */
export const MCP_SERVERS_INDEX = 'mcp-servers';
export type McpServerRow = {
  readonly name: string;
  readonly state: 'listed' | 'failed';
  /** how often the stored list was replaced: another number, another list */
  readonly revision: number;
  /** of the latest list, epoch milliseconds; null: none was read yet */
  readonly listedAt: number | null;
  /** number of tools */
  readonly tools: number;
  readonly leftOut: readonly LeftOut[];
  /** why the latest attempt failed */
  readonly error?: ErrorData;
};

/** Index `mcp-tools`, key: the name of the server; changes together with its row. */
export const MCP_TOOLS_INDEX = 'mcp-tools';
export type McpToolsRow = { readonly tools: readonly ListedTool[] };
