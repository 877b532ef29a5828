/** Rules of `mcp.servers`. */
import type { Config, McpServerConfig } from '../schema/schema.ts';
import type { Finding } from './check.ts';

/** Each server is a program or a URL, and has the settings of its kind only. */
export function mcpServersFit({ mcp }: Config): Finding[] {
  return Object.entries(mcp.servers).flatMap(([name, server]) => {
    const message = faultOf(server);
    return message === undefined ? [] : [{ pointer: `/mcp/servers/${name}`, message }];
  });
}

function faultOf(server: McpServerConfig): string | undefined {
  const { command, url, args, env, cwd, headers, oauth } = server;
  if ((command === undefined) === (url === undefined))
    return 'needs either `command` or `url`, and not both';
  if (url === undefined && Object.keys(headers).length > 0)
    return '`headers` are for servers with a `url`';
  if (url === undefined) return oauth && '`oauth` is for servers with a `url`';
  if (args.length > 0 || Object.keys(env).length > 0 || cwd !== undefined)
    return '`args`, `env` and `cwd` are for servers with a `command`';
  if (!URL.canParse(url)) return '`url` is not a URL';
  const { username, password } = new URL(url);
  if (username !== '' || password !== '')
    return '`url` must have no user name and no password: use `headers`';
  return oauth && oauthFault(server, oauth);
}

function oauthFault(
  { headers }: McpServerConfig,
  { grant, clientId, clientSecret, clientMetadataUrl }: NonNullable<McpServerConfig['oauth']>,
): string | undefined {
  if (Object.keys(headers).some((name) => name.toLowerCase() === 'authorization'))
    return 'needs either `oauth` or the header `Authorization`, and not both';
  if (grant === 'client_credentials' && !(clientId !== undefined && clientSecret))
    return '`oauth.grant: client_credentials` needs `oauth.clientId` and `oauth.clientSecret`';
  if (clientSecret && clientId === undefined) return '`oauth.clientSecret` needs `oauth.clientId`';
  return clientId !== undefined && clientMetadataUrl !== undefined
    ? '`oauth.clientId` and `oauth.clientMetadataUrl` exclude each other'
    : undefined;
}
