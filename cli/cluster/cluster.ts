/**
 * `troupe cluster`: shows the present state of a cluster: workers, gateways, and every shard with
 * its owner and pending messages. It listens to the heartbeats of the processes.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Heartbeat, HEARTBEAT_SUBJECT } from '../../runtime/cluster/heartbeat.ts';
import { type Config, natsOptions } from '../../runtime/config/index.ts';
import { type ClusterLink, linkCluster, Listener } from './cluster-link.ts';
import { type ClusterView, render, viewOf } from './cluster-view.ts';
import { exitCodes } from '../exit.ts';
import { natsNamed } from '../processes/node.ts';
import { type CommonOptions, loadFrom } from '../options.ts';
import { printJson } from '../output.ts';
import { untilSignal } from '../processes/signals.ts';

export type ClusterViewOptions = CommonOptions & {
  readonly watch?: boolean;
  /** show every shard */
  readonly shards?: boolean;
  /** name of a process */
  readonly check?: string;
};

/** Every process sends a heartbeat within this time; a silent one is considered gone. */
const listenMs = 1_000;
const redrawMs = 1_000;
const checkMs = 2_000;

export async function cluster(options: ClusterViewOptions): Promise<number> {
  const { config } = await loadFrom(options);
  if (options.check !== undefined) return check(config, options.check);
  const stop = untilSignal();
  const link = await linkCluster(config, stop);
  try {
    const listener = new Listener(link.bus);
    await pause(listenMs, undefined, { signal: stop });
    const look = () => viewOf({ ...link, cell: link.store.cell }, listener.received(listenMs));
    if (options.watch) await watch(look, options, stop);
    else if (options.json) printJson(look());
    else process.stdout.write(textOf(look(), options));
    return exitCodes.ok;
  } catch (error) {
    if (stop.aborted) return exitCodes.interrupted;
    throw error;
  } finally {
    await close(link);
  }
}

async function watch(
  look: () => ClusterView,
  options: ClusterViewOptions,
  stop: AbortSignal,
): Promise<never> {
  const { stdout } = process;
  const { json } = options;
  for (;;) {
    const text = json ? `${JSON.stringify(look())}\n` : textOf(look(), options);
    stdout.write(stdout.isTTY && !json ? onePage(text, stdout.rows) : text);
    await pause(redrawMs, undefined, { signal: stop });
  }
}

const textOf = (view: ClusterView, { shards }: ClusterViewOptions): string =>
  render(view, Date.now(), { all: shards === true });

const clear = '\u001B[H\u001B[J';

/** As many lines as fit in the terminal. */
function onePage(text: string, rows: number): string {
  const lines = text.trimEnd().split('\n');
  if (lines.length < rows) return `${clear}${lines.join('\n')}\n`;
  const shown = lines.slice(0, rows - 2);
  return `${clear}${shown.join('\n')}\n… and ${lines.length - shown.length} more lines\n`;
}

async function check(config: Config, name: string): Promise<number> {
  const isAlive = await sendsHeartbeat(config, name);
  process.stdout.write(isAlive ? `${name} sends heartbeats\n` : `no heartbeat from ${name}\n`);
  return isAlive ? exitCodes.ok : exitCodes.failure;
}

/** Whether the process of this name sends a heartbeat within two seconds. */
export async function sendsHeartbeat(
  config: Config,
  name: string,
  role?: string,
): Promise<boolean> {
  natsNamed(config);
  const [{ connectNats }, { NatsBus }] = await Promise.all([
    import('../../runtime/cluster/nats-connection.ts'),
    import('../../runtime/bus/nats-bus.ts'),
  ]);
  const late = AbortSignal.timeout(checkMs);
  try {
    const connection = await connectNats({ ...natsOptions(config), signal: late });
    const bus = new NatsBus(connection, { env: config.nats.env });
    const found = new Promise<boolean>((resolve) => {
      bus.subscribe(HEARTBEAT_SUBJECT, ({ payload }) => {
        const heartbeat = payload as Heartbeat;
        const meant = heartbeat.name === name || heartbeat.node === name;
        if (meant && !heartbeat.leaving && (role === undefined || heartbeat.role === role))
          resolve(true);
      });
      late.addEventListener('abort', () => resolve(false));
    });
    const isFound = await found;
    await bus.close();
    await connection.close();
    return isFound;
  } catch (error) {
    if (late.aborted) return false;
    throw error;
  }
}

/** The subscription ends with its connection. */
const close = ({ store }: ClusterLink): Promise<void> => store.close();
