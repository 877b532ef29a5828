/** Rules for `tools.a2a.agents`. */
import { childPointer } from '../pointer.ts';
import type { Config } from '../schema/schema.ts';
import type { Finding } from './check.ts';

/** Tokens would be readable on the way, and anyone there could answer. */
export function remoteAgentsUseTls({ tools }: Config): Finding[] {
  return Object.entries(tools.a2a.agents).flatMap(([name, agent]): Finding[] => {
    if (agent.allowPrivate) return [];
    const pointer = childPointer('/tools/a2a/agents', name);
    const places: [string, string][] = [
      ['url', agent.url],
      ...agent.origins.map((origin, at): [string, string] => [`origins/${at}`, origin]),
      ...agent.keyOrigins.map((origin, at): [string, string] => [`keyOrigins/${at}`, origin]),
    ];
    return places
      .filter(([, url]) => url.startsWith('http:'))
      .map(([key, url]) => ({
        pointer: `${pointer}/${key}`,
        value: JSON.stringify(url),
        message:
          'is not encrypted: use https://, or set allowPrivate for an agent in a private network',
      }));
  });
}
