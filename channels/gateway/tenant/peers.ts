/**
 * The other gateways of one tenant and their clients. Each gateway sends heartbeats over the Bus,
 * and publishes its clients when they change or when another gateway asks.
 *
 * Boundary: the Bus may lose messages, so only presence and reachability depend on it. Heartbeats
 * carry a version that reveals a lost message, which is then requested again.
 *
 * Invariants: a gateway that left, or missed PEER_HEARTBEATS_MISSED_MAX heartbeats, has no clients.
 * Only gateways of the same tenant are accepted, at most PEERS_MAX of them.
 */
import type { PresenceEntry } from '../../../protocols/gateway/index.ts';
import { escapeToken } from '../../../protocols/subjects.ts';
import type { Clock, System } from '../../../runtime/index.ts';
import { PEER_HEARTBEAT_MS, PEER_HEARTBEATS_MISSED_MAX, PEERS_MAX } from '../limits.ts';

/** The clients of one gateway, as published. */
export type Clients = {
  /** rises with every change */
  readonly version: number;
  /** their number */
  readonly total: number;
  /** the newest ones */
  readonly entries: readonly PresenceEntry[];
};

type PeerMessage =
  | { readonly type: 'gateway.clients'; readonly gateway: string; readonly clients: Clients }
  | { readonly type: 'gateway.heartbeat'; readonly gateway: string; readonly version: number }
  /** asks one gateway, or all of them, to publish its clients */
  | { readonly type: 'gateway.ask'; readonly gateway: string; readonly whom?: string }
  | { readonly type: 'gateway.left'; readonly gateway: string };

type Peer = { clients: Clients | undefined; lastMessageAt: number };

export type PeersParts = {
  readonly bus: System['bus'];
  readonly tenant: string;
  /** identifies this run of the gateway */
  readonly gateway: string;
  readonly clock: Clock;
  readonly own: () => Clients;
  /** called when the clients of another gateway have changed */
  readonly changed: () => void;
};

/** The topic of all gateways of a tenant. */
const peersTopic = (tenant: string): string => `gateways.${escapeToken(tenant)}`;

const GONE_AFTER_MS = PEER_HEARTBEAT_MS * (PEER_HEARTBEATS_MISSED_MAX + 1);

export class Peers {
  readonly #parts: PeersParts;
  readonly #peers = new Map<string, Peer>();
  readonly #startedAt: number;
  readonly #unsubscribe: () => void;
  #cancelHeartbeat: (() => void) | undefined;

  constructor(parts: PeersParts) {
    this.#parts = parts;
    const { bus, tenant, clock } = parts;
    this.#startedAt = clock.monotonicMs();
    this.#unsubscribe = bus.subscribe(peersTopic(tenant), ({ payload }) =>
      this.#onMessage(payload as PeerMessage),
    );
    this.#publish({ type: 'gateway.ask', gateway: parts.gateway });
    this.#heartbeat();
  }

  /** Clients of the other gateways. */
  *others(): Generator<Clients> {
    for (const { clients } of this.#peers.values()) if (clients) yield clients;
  }

  /**
   * Whether the gateway is known to be alive. Shortly after its own start this gateway does not
   * know the others yet, and returns true for all.
   */
  isAlive(gateway: string): boolean {
    if (gateway === this.#parts.gateway || this.#peers.has(gateway)) return true;
    return this.#parts.clock.monotonicMs() - this.#startedAt < GONE_AFTER_MS;
  }

  /** Publishes this gateway's clients to the others. */
  publishClients(): void {
    const { gateway, own } = this.#parts;
    this.#publish({ type: 'gateway.clients', gateway, clients: own() });
  }

  /** Notifies the others that this gateway leaves. */
  close(): void {
    this.#cancelHeartbeat?.();
    this.#unsubscribe();
    this.#publish({ type: 'gateway.left', gateway: this.#parts.gateway });
  }

  #onMessage(message: PeerMessage): void {
    if (message.gateway === this.#parts.gateway) return;
    if (message.type === 'gateway.left') {
      if (this.#peers.delete(message.gateway)) this.#parts.changed();
      return;
    }
    const peer = this.#peerOf(message.gateway);
    if (peer === undefined) return;
    peer.lastMessageAt = this.#parts.clock.monotonicMs();
    if (message.type === 'gateway.clients') {
      peer.clients = message.clients;
      this.#parts.changed();
    } else if (message.type === 'gateway.heartbeat') {
      if (peer.clients?.version !== message.version) this.#ask(message.gateway);
    } else if (message.whom === undefined || message.whom === this.#parts.gateway) {
      this.publishClients();
    }
  }

  #peerOf(gateway: string): Peer | undefined {
    const known = this.#peers.get(gateway);
    if (known !== undefined || this.#peers.size >= PEERS_MAX) return known;
    const peer: Peer = { clients: undefined, lastMessageAt: 0 };
    this.#peers.set(gateway, peer);
    return peer;
  }

  #ask(whom: string): void {
    this.#publish({ type: 'gateway.ask', gateway: this.#parts.gateway, whom });
  }

  #heartbeat(): void {
    const { clock, gateway, own, changed } = this.#parts;
    this.#cancelHeartbeat = clock.after(PEER_HEARTBEAT_MS, () => {
      this.#publish({ type: 'gateway.heartbeat', gateway, version: own().version });
      const silentSince = clock.monotonicMs() - GONE_AFTER_MS;
      for (const [name, { lastMessageAt }] of this.#peers) {
        if (lastMessageAt > silentSince) continue;
        this.#peers.delete(name);
        changed();
      }
      this.#heartbeat();
    });
  }

  #publish(message: PeerMessage): void {
    const { bus, tenant } = this.#parts;
    if (bus.connected) bus.publish(peersTopic(tenant), message);
  }
}
