/**
 * `troupe gateway`: an entry point of a cluster. It owns no shards; any number of gateways may run.
 */
import { type Config, ensureToken } from '../../runtime/config/index.ts';
import { runNode } from './node.ts';
import type { CommonOptions } from '../options.ts';
import { explainPort, withSecret } from './start.ts';
import { version } from '../version.ts';

export function gateway(options: CommonOptions): Promise<number> {
  return runNode(options, {
    start: async (loaded, how) => {
      const config: Config = ensureToken(loaded);
      const { startClusterGateway } = await import('../../main.ts');
      const node = await startClusterGateway(config, how).catch((error: unknown) =>
        explainPort(error, config),
      );
      return { ...node, url: withSecret(node.url, config) };
    },
    ready: ({ name, url }) =>
      `troupe ${version}: the gateway ${name} is ready. Open this page:\n\n  ${url}\n`,
  });
}
