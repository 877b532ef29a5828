/**
 * Presence: who is connected to the gateways of one tenant, told to everybody a moment after it
 * changes (GW6).
 *
 * Invariants:
 *  1. At most PRESENCE_ENTRIES_MAX clients are named, the newest; `total` says how many there are.
 *  2. What telling costs does not grow faster than the number of clients: the more there are, the
 *     rarer it is told, and to some of them at a time.
 *  3. `stateVersion` rises with every change, of this gateway's clients and of others'.
 */
import type { PresenceEntry, StateVersion } from '../../protocols/gateway/index.ts';
import type { Clock, System } from '../../runtime/index.ts';
import type { Connection } from './connection.ts';
import { type EventHead, eventHead } from './event-head.ts';
import {
  PRESENCE_ENTRIES_MAX,
  PRESENCE_INTERVAL_MS,
  PRESENCE_INTERVAL_PER_CONNECTION_MS,
  TOLD_AT_ONCE,
  TOLD_PAUSE_MS,
} from './limits.ts';
import { type Clients, Peers } from './peers.ts';

export type PresenceParts = {
  /** those that have said a good hello */
  readonly connections: ReadonlySet<Connection>;
  /** those that are told */
  readonly audience: Iterable<Connection>;
  readonly bus: System['bus'];
  readonly tenant: string;
  /** names this run of the gateway */
  readonly gateway: string;
  readonly clock: Clock;
};

export class Presence {
  /** set by the HealthBook of the same door */
  healthVersion = 1;
  readonly peers: Peers;
  readonly #parts: PresenceParts;
  #version = 1;
  /** of this gateway's clients alone */
  #ownVersion = 1;
  #own: ReadonlyMap<Connection, PresenceEntry> = new Map();
  #isStale = true;
  #isOwnTold = true;
  #cancelTelling: (() => void) | undefined;
  #cancelRest: (() => void) | undefined;

  constructor(parts: PresenceParts) {
    this.#parts = parts;
    const { bus, tenant, gateway, clock } = parts;
    this.peers = new Peers({
      bus,
      tenant,
      gateway,
      clock,
      own: () => this.#ownClients(),
      changed: () => this.#changed(),
    });
  }

  get stateVersion(): StateVersion {
    return { presence: this.#version, health: this.healthVersion };
  }

  /** Clients of all gateways. */
  get total(): number {
    let total = this.#parts.connections.size;
    for (const clients of this.peers.others()) total += clients.total;
    return total;
  }

  /** The newest of all gateways, the longest there first. */
  entries(): PresenceEntry[] {
    const own = this.#ownEntries();
    const all = [...own, ...[...this.peers.others()].flatMap(({ entries }) => entries)];
    if (all.length === own.length) return all;
    return all.toSorted((a, b) => a.ts - b.ts).slice(-PRESENCE_ENTRIES_MAX);
  }

  /** Somebody came to this gateway, or left it. */
  changed(): void {
    this.#ownVersion++;
    this.#isStale = true;
    this.#isOwnTold = false;
    this.#changed();
  }

  close(): void {
    this.#cancelTelling?.();
    this.#cancelRest?.();
    this.peers.close();
  }

  #changed(): void {
    this.#version++;
    const { connections, clock } = this.#parts;
    const intervalMs = Math.max(
      PRESENCE_INTERVAL_MS,
      connections.size * PRESENCE_INTERVAL_PER_CONNECTION_MS,
    );
    this.#cancelTelling ??= clock.after(intervalMs, () => {
      this.#cancelTelling = undefined;
      this.#tell();
    });
  }

  #tell(): void {
    if (!this.#isOwnTold) this.peers.tell();
    this.#isOwnTold = true;
    const presence = this.entries();
    const { total, stateVersion } = this;
    const payload = { presence, ...(total > presence.length ? { total } : {}) };
    const head = eventHead('presence', payload, { stateVersion });
    this.#cancelRest?.();
    // Those that come meanwhile are told at hello.
    this.#tellSome(head, [...this.#parts.audience], 0);
  }

  #tellSome(head: EventHead, all: readonly Connection[], from: number): void {
    const to = from + TOLD_AT_ONCE;
    for (const connection of all.slice(from, to)) connection.event(head);
    if (to >= all.length) return;
    this.#cancelRest = this.#parts.clock.after(TOLD_PAUSE_MS, () => this.#tellSome(head, all, to));
  }

  #ownClients(): Clients {
    return {
      version: this.#ownVersion,
      total: this.#parts.connections.size,
      entries: this.#ownEntries(),
    };
  }

  /** Connections stand in the order of their hellos. What an entry says does not change. */
  #ownEntries(): readonly PresenceEntry[] {
    if (this.#isStale) {
      this.#isStale = false;
      const before = this.#own;
      const own = new Map<Connection, PresenceEntry>();
      let skipped = this.#parts.connections.size - PRESENCE_ENTRIES_MAX;
      for (const connection of this.#parts.connections) {
        if (skipped-- > 0) continue;
        const entry = before.get(connection) ?? entryOf(connection);
        if (entry !== undefined) own.set(connection, entry);
      }
      this.#own = own;
    }
    return [...this.#own.values()];
  }
}

const entryOf = ({ client, remoteAddress }: Connection): PresenceEntry | undefined => {
  if (client === undefined) return undefined;
  const {
    id,
    displayName,
    version,
    platform,
    mode,
    deviceFamily,
    modelIdentifier,
    timeZone,
    instanceId,
  } = client.params.client;
  return {
    host: displayName ?? id,
    ...(remoteAddress === '' ? {} : { ip: remoteAddress }),
    version,
    platform,
    mode,
    ...(deviceFamily === undefined ? {} : { deviceFamily }),
    ...(modelIdentifier === undefined ? {} : { modelIdentifier }),
    ...(timeZone === undefined ? {} : { timeZone }),
    ...(instanceId === undefined ? {} : { instanceId }),
    ...(client.deviceId === undefined ? {} : { deviceId: client.deviceId }),
    roles: [client.role],
    scopes: [...client.scopes],
    reason: 'connect',
    ts: client.since,
    onlineSince: client.since,
  };
};
