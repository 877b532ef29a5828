/**
 * `troupe health`: whether a process of this machine is ready, as an exit code. Container images
 * need no other program for health checks.
 */
import { exchange } from '../client/gateway-http.ts';
import { defined } from '../../protocols/defined.ts';
import { exitCodes } from '../exit.ts';
import { addressOf, type CommonOptions, loadFrom } from '../options.ts';
import { printJson } from '../output.ts';
import { isTroupe } from './probe.ts';

export type HealthOptions = CommonOptions & { readonly worker?: boolean };

const answerMs = 2_000;

/** Exit code 0 when it is ready, 1 when not; the reason is printed. */
export async function health(options: HealthOptions): Promise<number> {
  const { config } = await loadFrom(options);
  const why = options.worker ? await workerFault(config) : await gatewayFault(config, options);
  const ok = why === undefined;
  if (options.json) printJson({ ok, ...defined({ why }) });
  else process.stdout.write(`${why ?? 'ready'}\n`);
  return ok ? exitCodes.ok : exitCodes.failure;
}

type Config = Awaited<ReturnType<typeof loadFrom>>['config'];

/** Why the gateway is not ready. */
async function gatewayFault(config: Config, options: CommonOptions): Promise<string | undefined> {
  const address = await addressOf(config, options);
  try {
    const signal = AbortSignal.timeout(answerMs);
    const { status, text } = await exchange(`http://${address}/readyz`, { signal });
    if (status !== 200) return `not ready: ${text}`;
    return (await isTroupe(address)) ? undefined : `http://${address}/ is not a gateway of troupe`;
  } catch {
    return `no response from http://${address}/readyz`;
  }
}

async function workerFault(config: Config): Promise<string | undefined> {
  const { nodeName } = await import('../../runtime/config/index.ts');
  const { sendsHeartbeat } = await import('../cluster/cluster.ts');
  const name = nodeName(config);
  return (await sendsHeartbeat(config, name, 'worker')) ? undefined : `no heartbeat from ${name}`;
}
