/**
 * The client that the official conformance suite starts: the product's connection to a server whose
 * URL is the last argument. It lists the tools and calls each, or those that the suite names.
 */
import { connect } from '../../../agent/mcp/connection.ts';
import { createHostBoundary } from '../../../agent/sandbox/host.ts';
import { loadConfig } from '../../../runtime/config/index.ts';
import { systemClock } from '../../../runtime/index.ts';
import { scratchFolderOf } from './conformance-folder.ts';

type Named = { readonly name: string; readonly arguments?: Record<string, unknown> };

const url = process.argv.at(-1)!;
if (!url.startsWith('http')) process.exit(0);
const { data, file } = scratchFolderOf({ mcp: { servers: { test: { url, allowPrivate: true } } } });
const { config } = loadConfig({ env: {}, file, flags: { data } });
const host = createHostBoundary();
const connection = await connect({
  name: 'test',
  config: config.mcp.servers['test']!,
  boundaries: { sandbox: host, host },
  clock: systemClock,
  version: '1.0.0',
  onPrint: () => {},
  onToolsChanged: () => {},
  onRemovedTool: () => {},
  onDeclined: () => {},
});
const { client } = connection;
const { toolCalls = [] } = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as {
  readonly toolCalls?: readonly Named[];
};
const { tools } = await client.listTools();

/** A value for each property: numbers 5, 3, …, and texts. */
const argumentsOf = ({ inputSchema }: (typeof tools)[number]): Record<string, unknown> => {
  const properties = Object.entries((inputSchema.properties ?? {}) as Record<string, object>);
  const values = properties.map(([name, schema], at) => {
    const type = (schema as { readonly type?: string }).type;
    const isNumber = type === 'number' || type === 'integer';
    return [name, isNumber ? 5 - 2 * at : type === 'boolean' ? true : 'text'] as const;
  });
  return Object.fromEntries(values);
};
const calls: readonly Named[] =
  toolCalls.length > 0
    ? toolCalls
    : tools.map((tool) => ({ name: tool.name, arguments: argumentsOf(tool) }));
for (const { name, arguments: args = {} } of calls)
  await client.callTool({ name, arguments: args }).catch((error: unknown) => console.error(error));
await connection.close();
