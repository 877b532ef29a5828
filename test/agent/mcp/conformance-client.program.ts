/**
 * The client that the official conformance suite starts: the product's connection to a server whose
 * URL is the last argument. It lists the tools and calls each, or those that the suite names. Where
 * a person would log in, it follows the redirect of the page; forms get their default values.
 */
import { connect } from '../../../agent/mcp/connection.ts';
import type { Authorizer } from '../../../agent/mcp/oauth/authorization.ts';
import type { LoginStore, StoredLogin } from '../../../agent/mcp/oauth/login-store.ts';
import { ServerLogin } from '../../../agent/mcp/oauth/server-login.ts';
import { createHostBoundary } from '../../../agent/sandbox/host.ts';
import { loadConfig } from '../../../runtime/config/index.ts';
import { systemClock } from '../../../runtime/index.ts';
import { scratchFolderOf } from './conformance-folder.ts';

type Named = { readonly name: string; readonly arguments?: Record<string, unknown> };

type Context = {
  readonly toolCalls?: readonly Named[];
  readonly client_id?: string;
  readonly client_secret?: string;
};

/** The document of the suite that describes a client. */
const CLIENT_METADATA = 'https://conformance-test.local/client-metadata.json';

const url = process.argv.at(-1)!;
if (!url.startsWith('http')) process.exit(0);
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as Context;
const { toolCalls = [], client_id: clientId, client_secret: clientSecret } = context;
const isProgram = process.env['MCP_CONFORMANCE_SCENARIO']?.includes('client-credentials') ?? false;
const oauth =
  clientId === undefined
    ? { clientMetadataUrl: CLIENT_METADATA }
    : { clientId, clientSecret, ...(isProgram && { grant: 'client_credentials' }) };
const { data, file } = scratchFolderOf({
  mcp: { servers: { test: { url, allowPrivate: true, oauth } } },
});
const { config } = loadConfig({ env: {}, file, flags: { data } });
const host = createHostBoundary();
const server = config.mcp.servers['test']!;

const authorizer: Authorizer = {
  redirectUrl: 'http://127.0.0.1:3118/callback',
  async authorize(page) {
    const { headers } = await fetch(page, { redirect: 'manual' });
    return new URL(headers.get('location') ?? 'http://none').searchParams;
  },
};
let stored: StoredLogin | undefined;
const store: LoginStore = {
  read: async () => stored,
  write: async (login) => void (stored = login),
  exclusive: (work) => work(),
};
const connection = await connect({
  name: 'test',
  config: server,
  boundaries: { sandbox: host, host },
  clock: systemClock,
  version: '1.0.0',
  login: new ServerLogin({ name: 'test', config: server, store, clock: systemClock, authorizer }),
  onForm: ({ requestedSchema }) => {
    const fields = Object.entries(requestedSchema.properties as Record<string, object>);
    const defaults = fields.filter(([, field]) => 'default' in field);
    return {
      action: 'accept',
      content: Object.fromEntries(
        defaults.map(([name, field]) => [name, (field as { default: string }).default]),
      ),
    };
  },
  onPrint: () => {},
  onToolsChanged: () => {},
  onRemovedTool: () => {},
  onDeclined: () => {},
});
const { client } = connection;
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
// Open connections to the page of the login would keep the process.
process.exit(0);
