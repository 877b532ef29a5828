/** The MCP servers and A2A agents of a configuration, without secrets. */
import { defined } from '../protocols/defined.ts';
import type { RemoteServer } from '../protocols/remote-server.ts';
import type { Config } from '../runtime/config/index.ts';

/** By kind and name. */
export function remoteServersOf({ mcp, tools }: Config): readonly RemoteServer[] {
  const servers = Object.entries(mcp.servers).map(
    ([name, { url, command = '', enabled, approval }]): RemoteServer => ({
      kind: 'mcp',
      name,
      ...(url === undefined
        ? { transport: 'stdio', place: command }
        : { transport: 'http', place: shortUrl(url) }),
      enabled,
      approval,
    }),
  );
  const agents = Object.entries(tools.a2a.agents).map(
    ([name, { url, approval, about }]): RemoteServer => ({
      kind: 'a2a',
      name,
      transport: 'http',
      place: shortUrl(url),
      enabled: true,
      approval,
      ...defined({ about }),
    }),
  );
  return [...agents, ...servers].toSorted((a, b) =>
    `${a.kind} ${a.name}` < `${b.kind} ${b.name}` ? -1 : 1,
  );
}

/** Logins and queries may be secrets. */
function shortUrl(text: string): string {
  if (!URL.canParse(text)) return '';
  const { origin, pathname } = new URL(text);
  return `${origin}${pathname}`;
}
