/**
 * The common part of `troupe gateway` and `troupe worker`: waits for NATS, prints once that the
 * process is ready, and stops in order at the first signal.
 */
import type { Node, NodeOptions } from '../../main.ts';
import { type Config, makeFolder, natsServers } from '../../runtime/config/index.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { exitCodes } from '../exit.ts';
import { noteRunningGateway } from '../../installation/running-gateway.ts';
import { checkOpenFiles } from './open-files.ts';
import { type CommonOptions, loadToStart } from '../options.ts';
import { startSmall } from './memory.ts';
import { withProgress } from '../progress.ts';
import { aborted, untilSignal } from './signals.ts';
import { version } from '../version.ts';

export type Role = {
  readonly start: (config: Config, options: NodeOptions) => Promise<Node>;
  /** printed for the operator, without the line break */
  readonly ready: (node: Node) => string;
};

/**
 * Resolves when the process has stopped after a signal. @throws TroupeError when it cannot start,
 * ConfigError when no NATS server is named
 */
export async function runNode(options: CommonOptions, { start, ready }: Role): Promise<number> {
  const stop = untilSignal();
  const { config, file } = await loadToStart(options);
  const servers = natsNamed(config);
  checkOpenFiles();
  makeFolder(config.home);
  let said = false;
  const onWait = (what: string) => {
    if (!said) process.stderr.write(`troupe: waiting for NATS at ${servers.join(', ')}: ${what}\n`);
    said = true;
  };
  const reload = async () => (await loadToStart(options)).config;
  let node: Node;
  try {
    node = await startSmall(() => start(config, { signal: stop, onWait, file, reload }));
  } catch (error) {
    if (stop.aborted) return exitCodes.ok;
    throw error;
  }
  const forget = node.url === undefined ? undefined : noteRunningGateway(config.home, node.url);
  announce(node, ready(node), options);
  await aborted(stop);
  forget?.();
  await withProgress(({ show }) => {
    show('stopping: shards are handed over, running work ends');
    return node.stop();
  });
  return exitCodes.ok;
}

/** @throws TroupeError INVALID_ARGUMENT when no server is named */
export function natsNamed({ nats }: Config): readonly string[] {
  const servers = natsServers(nats);
  if (servers.length > 0) return servers;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    'no NATS server is configured: use --nats nats://host:port, or set TROUPE_NATS_URL or nats.url',
  );
}

function announce({ id, name, url }: Node, text: string, { json }: CommonOptions): void {
  const facts = { ...(url && { url }), node: id, name, pid: process.pid, version };
  process.stdout.write(json ? `${JSON.stringify(facts)}\n` : `${text}\n`);
}
