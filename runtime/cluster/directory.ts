/**
 * Directory: the owner of each shard, from the heartbeats of the nodes, and for this process's own
 * shards from this process itself.
 *
 * Of several claims for one shard the highest epoch wins. Claims below a known epoch are ignored:
 * such a node was fenced and does not know it yet (A1).
 */
import type { ShardStatus } from '../system.ts';
import type { Heartbeat } from './heartbeat.ts';
import type { Members } from './members.ts';

export type ShardOwner = { readonly node: string; readonly status: ShardStatus };

export class Directory {
  readonly #members: Members;
  readonly #self: string;
  readonly #held: () => readonly ShardStatus[];
  /** claims of the other nodes, by node */
  readonly #claims = new Map<string, readonly ShardStatus[]>();
  /** highest epoch by shard, ever */
  readonly #epochs: number[] = [];
  readonly #onChange = new Set<() => void>();
  /** the best claim of other nodes by shard; undefined when it must be computed again */
  #others: ShardOwner[] | undefined;

  /** @param held the shards that this process owns or loads now */
  constructor(members: Members, self: string, held: () => readonly ShardStatus[]) {
    this.#members = members;
    this.#self = self;
    this.#held = held;
    members.onHeartbeat((heartbeat) => this.#onHeartbeat(heartbeat));
    members.onEvent((event) => {
      if (event.kind === 'died' || event.kind === 'left') this.#forget(event.heartbeat.node);
    });
  }

  ownerOf(shard: number): ShardOwner | undefined {
    const other = this.#othersBest()[shard];
    const own = this.#held().find((status) => status.shard === shard);
    return own ? this.#better(other, { node: this.#self, status: own }) : other;
  }

  /** The owner of every shard that has one, indexed by shard. */
  owners(): readonly (ShardOwner | undefined)[] {
    const all: (ShardOwner | undefined)[] = [...this.#othersBest()];
    for (const status of this.#held())
      all[status.shard] = this.#better(all[status.shard], { node: this.#self, status });
    return all;
  }

  /** Every shard that has an owner, in order, with its owner. */
  all(): readonly ShardStatus[] {
    return this.owners().flatMap((owner) => (owner ? [{ ...owner.status, node: owner.node }] : []));
  }

  /** The highest known epoch of a shard; 0 if none is known. */
  epochOf(shard: number): number {
    return this.#epochs[shard] ?? 0;
  }

  /** Calls when another node took or released a shard. Returns unsubscribe. */
  onChange(call: () => void): () => void {
    this.#onChange.add(call);
    return () => void this.#onChange.delete(call);
  }

  #onHeartbeat({ node, shards }: Heartbeat): void {
    for (const status of shards) this.#learn(status);
    if (node === this.#self) return;
    const before = this.#claims.get(node) ?? [];
    this.#claims.set(node, shards);
    if (isSame(before, shards)) return this.#refresh(node, shards);
    this.#changed();
  }

  /** A new epoch invalidates older claims. */
  #learn({ shard, state, epoch }: ShardStatus): void {
    if (state !== 'owned' || epoch <= this.epochOf(shard)) return;
    this.#epochs[shard] = epoch;
    if (this.#others?.[shard]) this.#others = undefined;
  }

  #forget(node: string): void {
    this.#claims.delete(node);
    this.#changed();
  }

  #changed(): void {
    this.#others = undefined;
    for (const call of this.#onChange) call();
  }

  /** The same claims with newer figures. */
  #refresh(node: string, shards: readonly ShardStatus[]): void {
    if (!this.#others) return;
    for (const status of shards)
      if (this.#others[status.shard]?.node === node) this.#others[status.shard] = { node, status };
  }

  #othersBest(): readonly ShardOwner[] {
    if (this.#others) return this.#others;
    const best: ShardOwner[] = [];
    for (const [node, shards] of this.#claims) {
      if (!this.#members.isAlive(node)) continue;
      for (const status of shards) {
        const better = this.#better(best[status.shard], { node, status });
        if (better) best[status.shard] = better;
      }
    }
    this.#others = best;
    return best;
  }

  #better(a: ShardOwner | undefined, b: ShardOwner): ShardOwner | undefined {
    const claim = CLAIMS[b.status.state];
    if (claim === 0) return a;
    if (b.status.state === 'owned' && b.status.epoch < this.epochOf(b.status.shard)) return a;
    if (!a) return b;
    const difference =
      claim - CLAIMS[a.status.state] ||
      b.status.epoch - a.status.epoch ||
      (b.node < a.node ? 1 : -1);
    return difference > 0 ? b : a;
  }
}

/** How reliably a state names the owner of a shard; 0: the node does not own it. */
const CLAIMS: Record<ShardStatus['state'], number> = {
  owned: 3,
  loading: 2,
  quarantined: 1,
  lost: 0,
  stopped: 0,
};

const isSame = (before: readonly ShardStatus[], after: readonly ShardStatus[]): boolean =>
  before.length === after.length &&
  before.every((one, at) => {
    const other = after[at]!;
    return one.shard === other.shard && one.state === other.state && one.epoch === other.epoch;
  });
