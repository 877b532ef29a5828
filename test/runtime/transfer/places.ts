/**
 * Where an installation is moved to in tests: a log in memory that is not atomic, and real NATS.
 */
import { afterAll } from 'vitest';
import { decodeCell } from '../../../runtime/cell-record.ts';
import { cellSubject } from '../../../protocols/subjects.ts';
import { MemoryBlobs } from '../../../runtime/blobs/memory.ts';
import { InProcessBus } from '../../../runtime/bus/in-process.ts';
import { type Clock, systemClock } from '../../../runtime/clock/clock.ts';
import { openNats } from '../../../runtime/cluster/open-nats.ts';
import type { Ports } from '../../../runtime/index.ts';
import { MemoryLog } from '../../../runtime/log/memory.ts';
import { MemoryState } from '../../../runtime/state/memory.ts';
import type { ImportTarget } from '../../../runtime/transfer/import.ts';
import { openNatsTarget } from '../../../runtime/transfer/nats-target.ts';
import { type NatsServer, natsServers, startNats } from '../../servers/nats.ts';

/** Ports of a system on the imported data. */
export type MovedPorts = {
  store: Pick<Ports['store'], 'log' | 'state' | 'cell' | 'close'>;
} & Omit<Ports, 'store'>;

export type Place = {
  readonly env: string;
  readonly target: ImportTarget;
  /** as a process of the new cell opens it; waits while an import is under way */
  open(): Promise<MovedPorts>;
  /** ends the connection of the import */
  close(): Promise<void>;
};

export type PlaceKind = { readonly name: string; readonly make: () => Promise<Place> };

export class MemoryPlace implements Place {
  readonly env = 'new';
  readonly target: ImportTarget;

  constructor(clock: Clock = systemClock) {
    const clear = () => Promise.reject(new Error('a log in memory cannot be cleared'));
    this.target = { log: new MemoryLog(clock, false), blobs: new MemoryBlobs(), clear };
  }

  async open(): Promise<MovedPorts> {
    const { log, blobs } = this.target;
    const record = await log.readLast(cellSubject(this.env));
    if (!record) throw new Error('there is no cell');
    const { cell } = decodeCell<{ cell: string }>(record);
    const state = new MemoryState();
    const store = { log, state, cell, close: () => state.close() };
    return { store, bus: new InProcessBus(), blobs };
  }

  async close(): Promise<void> {}
}

/** Each server runs until the tests of the file have ended; every place is a separate env. */
function natsPlaces(version: string, path: string): PlaceKind {
  let server: Promise<NatsServer> | undefined;
  let places = 0;
  afterAll(async () => (await server)?.stop());
  const make = async (): Promise<Place> => {
    server ??= startNats({ path });
    const servers = [(await server).url];
    const env = `e${++places}`;
    const target = await openNatsTarget({ servers, env });
    const open = () =>
      openNats({
        servers,
        env,
        shards: 1,
        state: () => new MemoryState(),
        onAlarm: () => {},
      });
    return { env, target, open, close: () => target.close() };
  };
  return { name: `NATS ${version}`, make };
}

export const memoryPlaces: PlaceKind = { name: 'memory', make: async () => new MemoryPlace() };
/** The oldest and the newest of the available servers. */
export const allPlaces = (): readonly PlaceKind[] => {
  const servers = natsServers();
  const ends = servers.length > 1 ? [servers[0]!, servers.at(-1)!] : servers;
  return [memoryPlaces, ...ends.map(({ version, path }) => natsPlaces(version, path))];
};
