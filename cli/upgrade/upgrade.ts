/**
 * `troupe upgrade status|finish`: asks the gateway that runs. Where none runs, it opens the cell
 * itself: the data folder of a stopped troupe, or a cluster, whose heartbeats it receives.
 */
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Finished, UpgradeStatus } from '../../protocols/upgrade.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { upgradeFinish, upgradeStatus, upgradeText } from '../../operations/upgrade.ts';
import { type Config, natsServers, storeFolder } from '../../runtime/config/index.ts';
import { runningGateway } from '../../installation/running-gateway.ts';
import { gatewayHttp } from '../client/gateway-http.ts';
import { exitCodes } from '../exit.ts';
import { type ClientOptions, loadFrom, loadToConnect } from '../options.ts';
import { printJson } from '../output.ts';
import { untilSignal } from '../processes/signals.ts';
import { callOperation } from '../run-operation.ts';
import type { StoppedCell } from './stopped-cell.ts';

export type UpgradeOptions = ClientOptions;

/** @throws TroupeError NOT_FOUND without data of troupe; UNAVAILABLE */
export async function status(options: UpgradeOptions): Promise<number> {
  const found = await readUpgradeStatus(options);
  if (options.json) printJson(found);
  else process.stdout.write(upgradeText(found));
  return exitCodes.ok;
}

/** @throws as `status` */
export const readUpgradeStatus = (
  options: UpgradeOptions,
  signal?: AbortSignal,
): Promise<UpgradeStatus> => {
  const online = async () => callOperation(upgradeStatus, await gatewayHttp(options), {});
  const offline = async (cell: StoppedCell) => (await forStopped()).statusOfCell(cell);
  return withCell<UpgradeStatus>(options, { online, offline }, signal);
};

/**
 * @throws TroupeError CONFLICT while a process lives that cannot read the new format; as `status`
 */
export async function finish(options: UpgradeOptions): Promise<number> {
  const by = userInfo().username;
  const finished = await withCell<Finished>(options, {
    online: async () => callOperation(upgradeFinish, await gatewayHttp(options), {}),
    offline: async (cell) => (await forStopped()).finishCell(cell, by),
  });
  if (options.json) printJson(finished);
  else {
    const { format } = finished.cell;
    process.stdout.write(
      finished.raised
        ? `records are written in format ${format} from now on; older versions of troupe refuse to start\n`
        : `records are written in format ${format} already: nothing was changed\n`,
    );
  }
  return exitCodes.ok;
}

/** What a running gateway does otherwise: it loads the actors and the store. */
const forStopped = () => import('../../installation/upgrade-cell.ts');

type Ways<T> = {
  readonly online: () => Promise<T>;
  readonly offline: (cell: StoppedCell) => Promise<T>;
};

async function withCell<T>(
  options: UpgradeOptions,
  { online, offline }: Ways<T>,
  signal?: AbortSignal,
): Promise<T> {
  const { home } = (await loadToConnect(options)).config;
  if (options.url !== undefined || runningGateway(home)) return online();
  const { config } = await loadFrom(options);
  if (natsServers(config.nats).length === 0 && !existsSync(join(storeFolder(config), 'store.json')))
    throw new TroupeError('NOT_FOUND', `${config.home} contains no data of troupe`);
  const cell = await open(config, signal);
  // Another process has the folder: a gateway that listens where the options say.
  if (!cell) return online();
  try {
    return await offline(cell);
  } finally {
    await cell.store.close();
  }
}

async function open(config: Config, signal?: AbortSignal): Promise<StoppedCell | undefined> {
  const { openInCluster, openInFolder } = await import('./stopped-cell.ts');
  if (natsServers(config.nats).length > 0) return openInCluster(config, signal ?? untilSignal());
  try {
    return await openInFolder(storeFolder(config));
  } catch (error) {
    if (error instanceof TroupeError && error.details?.['reason'] === 'LOCKED') return undefined;
    throw error;
  }
}
