/**
 * `troupe actors`: shows single actors of a cluster (`--nats`), or of the data folder of a stopped
 * process. It reads stored data only: it activates no actor and changes nothing.
 */
import { type Address, isAddress } from '../../protocols/address.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { table } from '../../operations/text.ts';
import { type Config, natsServers, storeFolder } from '../../runtime/config/index.ts';
import { type ActorTurn, turnsOf } from '../../runtime/inspect/actor-turns.ts';
import {
  actorsInCluster,
  actorsInFolder,
  type StoredActors,
} from '../../runtime/inspect/stored-actors.ts';
import { linkCluster } from './cluster-link.ts';
import { exitCodes } from '../exit.ts';
import { type CommonOptions, loadFrom } from '../options.ts';
import { printJson } from '../output.ts';
import { untilSignal } from '../processes/signals.ts';

export type ActorsOptions = CommonOptions;
export type ListOptions = ActorsOptions & { readonly type?: string; readonly limit?: number };
export type WatchOptions = ActorsOptions & { readonly turns?: number };

const LIST_MAX = 1_000;

export async function list(options: ListOptions): Promise<number> {
  const { type, limit = LIST_MAX } = options;
  const rows = await reading(options, (actors) => actors.list({ limit, ...defined({ type }) }));
  if (options.json) printJson(rows);
  else {
    const cells = rows.map((row) => [row.actor, row.status, JSON.stringify(row.state)]);
    process.stdout.write(table(['actor', 'status', 'state'], cells));
  }
  return exitCodes.ok;
}

export async function show(text: string, options: ActorsOptions): Promise<number> {
  const actor = addressOf(text);
  const found = await reading(options, (actors) => actors.inspect(actor));
  if (!found) throw new TroupeError('NOT_FOUND', `actor ${actor} does not exist`);
  printJson({ actor, ...found });
  return exitCodes.ok;
}

/** Prints turns until a signal, or until `turns` turns are printed. */
export async function watch(text: string, options: WatchOptions): Promise<number> {
  const actor = addressOf(text);
  const { config } = await loadFrom(options);
  if (natsServers(config.nats).length === 0) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      'actors can be watched in a cluster only: add --nats. Only one process can open the embedded store; troupe actors show reads it when troupe is stopped',
    );
  }
  const stopped = untilSignal();
  const link = await linkCluster(config, stopped);
  try {
    let left = options.turns ?? Number.POSITIVE_INFINITY;
    for await (const turn of turnsOf(actor, link, stopped)) {
      process.stdout.write(`${options.json ? JSON.stringify(turn) : lineOf(turn)}\n`);
      if (--left <= 0) break;
    }
    return stopped.aborted ? exitCodes.interrupted : exitCodes.ok;
  } finally {
    await link.store.close();
  }
}

function lineOf({ at, input, from, result, why, state, sent }: ActorTurn): string {
  const messages = sent.map(({ to, type }) => `${type} to ${to}`).join(', ');
  return [
    new Date(at).toISOString().slice(11, 23),
    `${input}${from === undefined ? '' : ` from ${from}`}`,
    result === 'applied' ? '' : `[${result}${why === undefined ? '' : `: ${why}`}]`,
    state === undefined ? '' : `-> ${JSON.stringify(state)}`,
    messages === '' ? '' : `sends ${messages}`,
  ]
    .filter((part) => part !== '')
    .join('  ');
}

function addressOf(text: string): Address {
  if (isAddress(text)) return text;
  throw new TroupeError('INVALID_ARGUMENT', `${text} is not an address: write tenant/type/key`);
}

async function reading<T>(
  options: ActorsOptions,
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
