/** The check of `troupe doctor` on MCP servers: it connects to each that is enabled. */
import type { Config } from '../../runtime/config/index.ts';
import { lookAt } from '../mcp/servers.ts';
import { type Finding, ok, warn } from './doctor-finding.ts';

const CHECK = 'MCP servers';

/** A warning for each server that cannot be reached; one `ok` finding about the others. */
export async function mcpServers(config: Config): Promise<readonly Finding[]> {
  const enabled = Object.entries(config.mcp.servers).filter(([, server]) => server.enabled);
  if (enabled.length === 0) return [ok(CHECK, 'none are enabled')];
  const rows = await lookAt(
    config,
    enabled.map(([name]) => name),
  );
  const reached = rows.filter(({ problem }) => problem === undefined);
  const failed = rows.filter(({ problem }) => problem !== undefined);
  return [
    ...failed.map(({ name, problem, login }) =>
      warn(
        CHECK,
        `${name} cannot be used: ${problem}`,
        login === 'needed'
          ? `troupe mcp login ${name}`
          : `correct mcp.servers.${name}, or troupe mcp remove ${name}`,
      ),
    ),
    ...(reached.length > 0
      ? [ok(CHECK, reached.map(({ name, tools }) => `${name}: ${tools.length} tools`).join(', '))]
      : []),
  ];
}
