/**
 * A connection to the gateway of the data folder. If none runs, troupe runs in this process
 * meanwhile, on a free port of this machine.
 */
import type { GatewayClient } from '../../../client/gateway-client.ts';
import { ensureToken } from '../../../runtime/config/index.ts';
import { isClustered } from '../../agents/agent-workspace.ts';
import { runningGateway } from '../../../installation/running-gateway.ts';
import { type CommonOptions, loadFrom, loadToCheck, withGateway } from '../../options.ts';

/** @throws TroupeError UNAVAILABLE; ConfigError */
export async function withOwnGateway<T>(
  options: CommonOptions,
  use: (client: GatewayClient) => Promise<T>,
): Promise<T> {
  const { config } = await loadFrom(options);
  if (isClustered(config) || runningGateway(config.home)) return withGateway(options, use);
  const loaded = await loadToCheck(options);
  const started = ensureToken(loaded.config);
  const gateway = { ...started.gateway, port: 0, bind: 'loopback' as const };
  const { startTroupe } = await import('../../../main.ts');
  const troupe = await startTroupe({ ...started, gateway }, {}, { file: loaded.file });
  try {
    const { port } = new URL(troupe.url);
    return await withGateway({ ...options, port, bind: 'loopback' }, use);
  } finally {
    await troupe.stop();
  }
}
