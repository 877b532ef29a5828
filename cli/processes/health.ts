/**
 * `troupe health`: whether a process of this machine is ready, as an exit code. Container images
 * need no other program for health checks.
 */
import { defined } from '../../protocols/defined.ts';
import { exitCodes } from '../exit.ts';
import { type CommonOptions, loadFrom, loadToConnect, originOf } from '../options.ts';
import { printJson } from '../output.ts';
import { isTroupe, getUnverified } from './probe.ts';

export type HealthOptions = CommonOptions & { readonly worker?: boolean };

const answerMs = 2_000;

/** Exit code 0 when it is ready, 1 when not; the reason is printed. */
export async function health(options: HealthOptions): Promise<number> {
  const { config } = await (options.worker ? loadFrom : loadToConnect)(options);
  const { why, disk } = options.worker
    ? { why: await workerFault(config) }
    : await gatewayState(config, options);
  const ok = why === undefined;
  if (options.json) printJson({ ok, ...defined({ why, disk }) });
  else process.stdout.write(`${why ?? 'ready'}${disk === undefined ? '' : `; ${disk}`}\n`);
  return ok ? exitCodes.ok : exitCodes.failure;
}

type Config = Awaited<ReturnType<typeof loadFrom>>['config'];

/** `why` the gateway is not ready; `disk`: why it accepts no new work. */
type GatewayState = { readonly why?: string | undefined; readonly disk?: string };

async function gatewayState(config: Config, options: CommonOptions): Promise<GatewayState> {
  const origin = await originOf(config, options);
  try {
    const signal = AbortSignal.timeout(answerMs);
    const { status, text } = await getUnverified(`${origin}/readyz`, { signal });
    if (status !== 200) return { why: `not ready: ${text}` };
    if (!(await isTroupe(origin))) return { why: `${origin}/ is not a gateway of troupe` };
    const { disk } = JSON.parse(text) as { readonly disk?: string };
    return defined({ disk });
  } catch {
    return { why: `no response from ${origin}/readyz` };
  }
}

async function workerFault(config: Config): Promise<string | undefined> {
  const { nodeName } = await import('../../runtime/config/index.ts');
  const { sendsHeartbeat } = await import('../cluster/cluster.ts');
  const name = nodeName(config);
  return (await sendsHeartbeat(config, name, 'worker')) ? undefined : `no heartbeat from ${name}`;
}
