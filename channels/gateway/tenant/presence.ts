/**
 * The clients that are connected to any gateway of one tenant. Changes are published to all clients
 * after a short delay.
 *
 * Invariants:
 *  1. At most PRESENCE_ENTRIES_MAX clients are listed, the newest; `total` counts all of them.
 *  2. The cost of publishing grows at most linearly with the number of clients: with more clients
 *     it happens less often, and in batches.
 *  3. The cost of a new client does not depend on how many are connected.
 *  4. `stateVersion` rises with every change of any gateway's clients.
 */
import { defined } from '../../../protocols/defined.ts';
import type { PresenceEntry, StateVersion } from '../../../protocols/gateway/index.ts';
import type { Clock, System } from '../../../runtime/index.ts';
import type { Connection } from '../transport/connection.ts';
import { type EventHead, eventHead } from '../transport/event-head.ts';
import {
  PRESENCE_ENTRIES_MAX,
  PRESENCE_INTERVAL_MS,
  PRESENCE_INTERVAL_PER_CONNECTION_MS,
  PRESENCE_BATCH,
  PRESENCE_BATCH_PAUSE_MS,
} from '../limits.ts';
import { type Clients, Peers } from './peers.ts';

export type PresenceParts = {
  /** connections that completed the handshake */
  readonly connections: ReadonlySet<Connection>;
  /** receivers of presence events */
  readonly audience: Iterable<Connection>;
  readonly bus: System['bus'];
  readonly tenant: string;
  /** identifies this run of the gateway */
  readonly gateway: string;
  readonly clock: Clock;
};

export class Presence {
  /** set by the HealthReport of the same gateway */
  healthVersion = 1;
  readonly peers: Peers;
  readonly #parts: PresenceParts;
  #version = 1;
  /** version of this gateway's clients only */
  #ownVersion = 1;
  /** the newest clients of this gateway, in order of their handshakes */
  #own = new Map<Connection, PresenceEntry>();
  /** a listed client has left, so an older one may be listed instead */
  #hasGap = false;
  /** entries as JSON, because many `hello-ok` frames contain the same entry */
  readonly #texts = new WeakMap<PresenceEntry, string>();
  #isOwnPublished = true;
  #cancelPublish: (() => void) | undefined;
  #cancelBatches: (() => void) | undefined;

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

  /** The newest clients of all gateways, oldest connection first. */
  entries(): PresenceEntry[] {
    const own = this.#ownEntries();
    const all = [...own, ...[...this.peers.others()].flatMap(({ entries }) => entries)];
    if (all.length === own.length) return all;
    return all.toSorted((a, b) => a.ts - b.ts).slice(-PRESENCE_ENTRIES_MAX);
  }

  /** `entries` as JSON. */
  encoded(): string {
    const texts = this.entries().map((entry) => {
      const known = this.#texts.get(entry);
      if (known !== undefined) return known;
      const text = JSON.stringify(entry);
      this.#texts.set(entry, text);
      return text;
    });
    return `[${texts.join(',')}]`;
  }

  /** A client connected; it is already the last of `connections`. */
  joined(connection: Connection): void {
    const entry = entryOf(connection);
    if (entry !== undefined) this.#own.set(connection, entry);
    const oldest = this.#own.keys().next();
    if (this.#own.size > PRESENCE_ENTRIES_MAX && !oldest.done) this.#own.delete(oldest.value);
    this.#ownChanged();
  }

  /** A client disconnected; it is no longer in `connections`. */
  left(connection: Connection): void {
    if (this.#own.delete(connection)) this.#hasGap = true;
    this.#ownChanged();
  }

  close(): void {
    this.#cancelPublish?.();
    this.#cancelBatches?.();
    this.peers.close();
  }

  #ownChanged(): void {
    this.#ownVersion++;
    this.#isOwnPublished = false;
    this.#changed();
  }

  #changed(): void {
    this.#version++;
    const { connections, clock } = this.#parts;
    const intervalMs = Math.max(
      PRESENCE_INTERVAL_MS,
      connections.size * PRESENCE_INTERVAL_PER_CONNECTION_MS,
    );
    this.#cancelPublish ??= clock.after(intervalMs, () => {
      this.#cancelPublish = undefined;
      this.#publish();
    });
  }

  #publish(): void {
    if (!this.#isOwnPublished) this.peers.publishClients();
    this.#isOwnPublished = true;
    const presence = this.entries();
    const { total, stateVersion } = this;
    const payload = { presence, ...(total > presence.length ? { total } : {}) };
    const head = eventHead('presence', payload, { stateVersion });
    this.#cancelBatches?.();
    // Clients that connect in the meantime receive presence in `hello-ok`.
    this.#sendBatch(head, [...this.#parts.audience], 0);
  }

  #sendBatch(head: EventHead, all: readonly Connection[], from: number): void {
    const to = from + PRESENCE_BATCH;
    for (const connection of all.slice(from, to)) connection.event(head);
    if (to >= all.length) return;
    this.#cancelBatches = this.#parts.clock.after(PRESENCE_BATCH_PAUSE_MS, () =>
      this.#sendBatch(head, all, to),
    );
  }

  #ownClients(): Clients {
    return {
      version: this.#ownVersion,
      total: this.#parts.connections.size,
      entries: this.#ownEntries(),
    };
  }

  #ownEntries(): readonly PresenceEntry[] {
    if (this.#hasGap) this.#listOlder();
    return [...this.#own.values()];
  }

  /** Lists older clients again. Connections are ordered by handshake, and entries are immutable. */
  #listOlder(): void {
    this.#hasGap = false;
    const { connections } = this.#parts;
    if (this.#own.size === connections.size) return;
    const before = this.#own;
    this.#own = new Map();
    let skipped = connections.size - PRESENCE_ENTRIES_MAX;
    for (const connection of connections) {
      if (skipped-- > 0) continue;
      const entry = before.get(connection) ?? entryOf(connection);
      if (entry !== undefined) this.#own.set(connection, entry);
    }
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
    ...defined({ deviceFamily, modelIdentifier, timeZone, instanceId, deviceId: client.deviceId }),
    roles: [client.role],
    scopes: [...client.scopes],
    reason: 'connect',
    ts: client.since,
    onlineSince: client.since,
  };
};
