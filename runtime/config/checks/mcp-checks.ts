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

function faultOf({ command, url, args, env, cwd, headers }: McpServerConfig): string | undefined {
  if ((command === undefined) === (url === undefined))
    return 'needs either `command` or `url`, and not both';
  if (url === undefined)
    return Object.keys(headers).length > 0 ? '`headers` are for servers with a `url`' : undefined;
  if (args.length > 0 || Object.keys(env).length > 0 || cwd !== undefined)
    return '`args`, `env` and `cwd` are for servers with a `command`';
  if (!URL.canParse(url)) return '`url` is not a URL';
  const { username, password } = new URL(url);
  return username !== '' || password !== ''
    ? '`url` must have no user name and no password: use `headers`'
    : undefined;
}
