/**
 * `troupe actors stored`: the actors in the data folder of a stopped process, or in the journals of
 * a cluster (`--nats`), where no gateway answers. It activates no actor and changes nothing.
 */
import { type Address, isAddress } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { table } from '../../operations/text.ts';
import { type Config, natsServers, storeFolder } from '../../runtime/config/index.ts';
import {
  actorsInCluster,
  actorsInFolder,
  type StoredActors,
} from '../../runtime/inspect/stored-actors.ts';
import { linkCluster } from '../cluster/cluster-link.ts';
import { exitCodes } from '../exit.ts';
import { type CommonOptions, loadFrom } from '../options.ts';
import { printJson } from '../output.ts';
import { untilSignal } from '../processes/signals.ts';

export type StoredOptions = CommonOptions & { readonly type?: string; readonly limit?: number };

const LIST_MAX = 1_000;

/** Lists them, or prints the one with this address. */
export const stored = (text: string | undefined, options: StoredOptions): Promise<number> =>
  text === undefined ? list(options) : show(text, options);

async function list(options: StoredOptions): Promise<number> {
  const { type, limit = LIST_MAX } = options;
  const rows = await reading(options, (actors) => actors.list({ limit, ...defined({ type }) }));
  if (options.json) printJson(rows);
  else {
    const cells = rows.map((row) => [row.actor, row.status, JSON.stringify(row.state)]);
    process.stdout.write(table(['actor', 'status', 'state'], cells));
  }
  return exitCodes.ok;
}

async function show(text: string, options: StoredOptions): Promise<number> {
  const actor = addressOf(text);
  const found = await reading(options, (actors) => actors.inspect(actor));
  if (!found) throw new TroupeError('NOT_FOUND', `actor ${actor} does not exist`);
  printJson({ actor, ...found });
  return exitCodes.ok;
}

function addressOf(text: string): Address {
  if (isAddress(text)) return text;
  throw new TroupeError('INVALID_ARGUMENT', `${text} is not an address: write tenant/type/key`);
}

async function reading<T>(
  options: StoredOptions,
  use: (actors: StoredActors) => Promise<T>,
): Promise<T> {
  const { config } = await loadFrom(options);
  const actors = await openStoredActors(config);
  try {
    return await use(actors);
  } finally {
    await actors.close();
  }
}

/** @throws TroupeError UNAVAILABLE while a process uses the data folder */
const openStoredActors = async (config: Config): Promise<StoredActors> =>
  natsServers(config.nats).length > 0
    ? actorsInCluster(await linkCluster(config, untilSignal()))
    : actorsInFolder({ path: storeFolder(config), durability: config.runtime.durability });
