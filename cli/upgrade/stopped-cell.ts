/** Opens a cell without taking part in it: it owns no shard and runs no turn. */
import { setTimeout as pause } from 'node:timers/promises';
import type { CellToUpgrade } from '../../installation/upgrade-cell.ts';
import type { Config } from '../../runtime/config/index.ts';
import { nodeStatusOf } from '../../runtime/cluster/heartbeat.ts';
import { decodeCell } from '../../runtime/cell-record.ts';
import { openEmbedded } from '../../runtime/index.ts';
import { cellSubject } from '../../protocols/subjects.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { linkCluster, Listener } from '../cluster/cluster-link.ts';

export type StoppedCell = CellToUpgrade;

/** Every process sends a heartbeat within this time. */
const LISTEN_MS = 1_500;
const LOCAL = 'local';

/** @throws TroupeError UNAVAILABLE (LOCKED) while a process uses the folder */
export async function openInFolder(path: string): Promise<StoppedCell> {
  const { store, bus } = await openEmbedded({ path, durability: 'power' });
  try {
    const record = await store.log.readLast(cellSubject(LOCAL));
    if (!record) throw new TroupeError('NOT_FOUND', `${path} contains no cell`);
    const { shards } = decodeCell<{ shards: number }>(record);
    return { store, bus, env: LOCAL, shards };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** @throws TroupeError NOT_FOUND when the cluster was never started */
export async function openInCluster(config: Config, signal: AbortSignal): Promise<StoppedCell> {
  const link = await linkCluster(config, signal);
  const listener = new Listener(link.bus);
  await pause(LISTEN_MS, undefined, { signal });
  const received = listener.received(LISTEN_MS);
  if (received.length === 0) return link;
  const nodes = received.map(({ heartbeat, ageMs }) => nodeStatusOf(heartbeat, ageMs));
  const shards = received.flatMap(({ heartbeat: { node, shards: owned } }) =>
    owned.map((shard) => ({ ...shard, node })),
  );
  return { ...link, live: { isSettled: true, nodes: () => nodes, status: () => shards } };
}
