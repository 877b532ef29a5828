/** The MCP servers of a tenant, by its configuration. Opens no connection. */
import type { Logger } from 'pino';
import { type McpReport, McpServers, type StoredLists } from '../agent/mcp/servers.ts';
import { createSandbox } from '../agent/sandbox/choose.ts';
import { createHostBoundary } from '../agent/sandbox/host.ts';
import type { GrowingMask } from '../agent/tools/growing-mask.ts';
import {
  MCP_SERVERS_INDEX,
  MCP_TOOLS_INDEX,
  mcpServerAddress,
  type McpServerRefresh,
  type McpServerRow,
  type McpToolsRow,
} from '../protocols/mcp-server.ts';
import packageJson from '../package.json' with { type: 'json' };
import { SYSTEM_PRINCIPAL } from '../protocols/security/principals.ts';
import type { Config } from '../runtime/config/index.ts';
import { mcpLogins } from './mcp-logins.ts';
import { type System, systemClock } from '../runtime/index.ts';

export type McpServersOfOptions = {
  /** whose connections read the lists of tools */
  readonly tenant: string;
  /** receives the tokens of logins */
  readonly secrets: GrowingMask;
  readonly report?: ((report: McpReport) => void) | undefined;
};

export function mcpServersOf(
  { mcp, tools, home }: Config,
  { tenant, secrets, report = () => {} }: McpServersOfOptions,
): McpServers {
  const { boundary, image } = tools.exec;
  return new McpServers({
    servers: mcp.servers,
    tenant,
    boundaries: { sandbox: createSandbox({ boundary, image }), host: createHostBoundary() },
    clock: systemClock,
    version: packageJson.version,
    secrets,
    report,
    logins: mcpLogins(home),
  });
}

/** The lists that the actors `mcp-server` of a tenant store. */
export const storedLists = (
  system: Pick<System, 'index' | 'tell' | 'caughtUp'>,
  tenant: string,
): StoredLists => ({
  readable: (name) => system.caughtUp(mcpServerAddress(tenant, name)),
  row: (name) => system.index.get<McpServerRow>(MCP_SERVERS_INDEX, tenant, name),
  tools: (name) => system.index.get<McpToolsRow>(MCP_TOOLS_INDEX, tenant, name),
  refresh(name) {
    const event: McpServerRefresh = { type: 'mcp-server.refresh' };
    const principal = { principal: SYSTEM_PRINCIPAL };
    // A system that stops refuses messages; the next one requests a list at its start.
    system.tell(mcpServerAddress(tenant, name), event, principal).catch(() => {});
  },
});

/** Writes reports of servers into the log of the process. */
export const mcpReportsTo =
  (log: Logger) =>
  ({ server, tenant, text, kind }: McpReport): void => {
    const about = { mcpServer: server, tenant };
    if (kind === 'output') log.info(about, text);
    else log.warn({ alarm: true, ...about }, `MCP server ${server}: ${text}`);
  };
