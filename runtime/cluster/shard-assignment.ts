/**
 * Decides which worker should own which shard, from this node's view of the others. Three
 * questions, from the strictest to the most permissive: where to move a shard that has an owner,
 * who takes over a shard without an owner, and who receives the shards of a node that shuts down.
 */
import type { ShardOwner } from './directory.ts';
import { type Heartbeat, formatOf, type Timings, writtenBy } from './heartbeat.ts';
import type { Member, Members } from './members.ts';
import { type Candidate, placeAll, placeOne, rankOf } from './rendezvous.ts';

/** The assigned worker of each shard, out of some candidates. */
export class ShardAssignment {
  readonly #shards: number;
  #candidates: readonly Candidate[] = [];
  #key = '';
  #placed: readonly (string | undefined)[] = [];

  constructor(shards: number) {
    this.#shards = shards;
  }

  /** Recomputes all shards if the candidates or their weights have changed. */
  among(candidates: readonly Candidate[]): this {
    const key = candidates
      .map(({ node, weight }) => `${node} ${weight}`)
      .sort()
      .join();
    if (key === this.#key) return this;
    this.#key = key;
    this.#candidates = candidates;
    this.#placed = placeAll(candidates, this.#shards);
    return this;
  }

  of(shard: number): string | undefined {
    return this.#placed[shard];
  }

  /** The assigned worker among those that have a copy of the shard's rows, or else among all. */
  preferring(hasCopy: (node: string) => boolean, shard: number): string | undefined {
    const ready = this.#candidates.filter(({ node }) => hasCopy(node));
    return ready.length > 0 ? placeOne(ready, shard) : this.of(shard);
  }

  includes(node: string): boolean {
    return this.#candidates.some((candidate) => candidate.node === node);
  }

  /** The number of candidates that are preferred to `node`. */
  rankOf(node: string, shard: number): number {
    return rankOf(this.#candidates, node, shard);
  }
}

/**
 * Candidates for a shard without an owner: nodes that are not cordoned, or else any; of these,
 * proven nodes, or else any; of these, nodes of the newest version, or else any.
 */
export function takeoverCandidates(members: Members): readonly Candidate[] {
  const working = members.alive().filter(({ heartbeat }) => isWorking(heartbeat));
  const open = working.filter(({ heartbeat }) => heartbeat.cordoned !== true);
  const all = open.length > 0 ? open : working;
  const proven = all.filter((member) => isProven(members, member));
  const able = proven.length > 0 ? proven : all;
  return newestOf(able).map(toCandidate);
}

/**
 * Shards of other nodes that this node would take over if their owners died: those for which fewer
 * than `copies` candidates come before it. Shards without an owner are left out.
 */
export function nextShards(
  members: Members,
  owners: readonly (ShardOwner | undefined)[],
  copies: number,
): readonly number[] {
  const self = members.self.node;
  const candidates = takeoverCandidates(members);
  if (copies === 0 || !candidates.some(({ node }) => node === self)) return [];
  return owners.flatMap((owner, shard) => {
    if (!owner || owner.node === self) return [];
    const others = candidates.filter(({ node }) => node !== owner.node);
    return rankOf(others, self, shard) < copies ? [shard] : [];
  });
}

/** Candidates for moving shards of this node, including this node (M1). */
export function moveCandidates(members: Members, { joinSettleMs }: Timings): readonly Candidate[] {
  const { self } = members;
  return members
    .alive()
    .filter(
      (member) =>
        isWorking(member.heartbeat) &&
        isProven(members, member) &&
        (member.heartbeat.node === self.node ||
          (member.knownMs >= joinSettleMs && member.heartbeat.cordoned !== true)) &&
        knowsAll(member.heartbeat, self),
    )
    .map(toCandidate);
}

/** Candidates for the shards of a stopping node; the fewer there are, the weaker the conditions. */
export function successor(
  members: Members,
  timings: Timings,
  shard: number,
  except: ReadonlySet<string>,
): string | undefined {
  const fits = ({ node }: Candidate): boolean => !except.has(node);
  return (
    placeOne(moveCandidates(members, timings).filter(fits), shard) ??
    placeOne(takeoverCandidates(members).filter(fits), shard)
  );
}

/** Whether a node can own shards. */
export const isWorking = ({ role, weight, draining, leaving }: Heartbeat): boolean =>
  role === 'worker' && weight > 0 && !draining && !leaving;

/** A node does not know how often others saw it die, so it assumes that it is reliable. */
const isProven = (members: Members, { heartbeat, knownMs }: Member): boolean =>
  heartbeat.node === members.self.node || knownMs >= members.probationMs(heartbeat.name);

/** Whether a node can continue the work of another one: its actors and what it writes (E6). */
const knowsAll = (heartbeat: Heartbeat, other: Heartbeat): boolean =>
  formatOf(heartbeat) >= writtenBy(other) &&
  other.types.every((type) => heartbeat.types.includes(type));

/**
 * Nodes that can continue the work of all of them, as far as their versions tell, or else all: a
 * stored actor may have been migrated to the newest version of its type, which an older program
 * cannot run.
 */
function newestOf(members: readonly Member[]): readonly Member[] {
  const programs = new Map<string, { heartbeat: Heartbeat; versions: Versions }>();
  for (const { heartbeat } of members) {
    const name = programOf(heartbeat);
    if (!programs.has(name)) programs.set(name, { heartbeat, versions: versionsOf(heartbeat) });
  }
  if (programs.size <= 1) return members;
  const all = [...programs.values()];
  const newest = new Set<string>();
  for (const [name, { heartbeat, versions }] of programs)
    if (all.every((other) => isAsNew(heartbeat, versions, other))) newest.add(name);
  const able = members.filter(({ heartbeat }) => newest.has(programOf(heartbeat)));
  return able.length > 0 ? able : members;
}

/** Highest version by type. */
type Versions = ReadonlyMap<string, number>;

const programOf = (heartbeat: Heartbeat): string =>
  `${formatOf(heartbeat)} ${writtenBy(heartbeat)} ${heartbeat.types.join()}`;

const isAsNew = (
  heartbeat: Heartbeat,
  versions: Versions,
  other: { readonly heartbeat: Heartbeat; readonly versions: Versions },
): boolean =>
  formatOf(heartbeat) >= writtenBy(other.heartbeat) &&
  [...other.versions].every(([type, version]) => (versions.get(type) ?? 0) >= version);

function versionsOf({ types }: Heartbeat): Versions {
  const newest = new Map<string, number>();
  for (const each of types) {
    const at = each.lastIndexOf('@');
    const type = each.slice(0, at);
    newest.set(type, Math.max(newest.get(type) ?? 0, Number(each.slice(at + 1))));
  }
  return newest;
}

export const toCandidate = ({ heartbeat: { node, name, weight } }: Member): Candidate => ({
  node,
  name,
  weight,
});
