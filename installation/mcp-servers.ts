/** The MCP servers of a tenant, by its configuration. Opens no connection. */
import type { Logger } from 'pino';
import { type McpReport, McpServers } from '../agent/mcp/servers.ts';
import { createSandbox } from '../agent/sandbox/choose.ts';
import { createHostBoundary } from '../agent/sandbox/host.ts';
import type { SecretMask } from '../agent/tools/secret-mask.ts';
import packageJson from '../package.json' with { type: 'json' };
import type { Config } from '../runtime/config/index.ts';
import { systemClock } from '../runtime/index.ts';

export type McpServersOfOptions = {
  /** whose connections read the lists of tools */
  readonly tenant: string;
  readonly secrets: SecretMask;
  readonly report?: ((report: McpReport) => void) | undefined;
};

export function mcpServersOf(
  { mcp, tools }: Config,
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
  });
}

/** Writes reports of servers into the log of the process. */
export const mcpReportsTo =
  (log: Logger) =>
  ({ server, tenant, text, kind }: McpReport): void => {
    const about = { mcpServer: server, tenant };
    if (kind === 'output') log.info(about, text);
    else log.warn({ alarm: true, ...about }, `MCP server ${server}: ${text}`);
  };
