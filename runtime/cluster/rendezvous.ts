/**
 * Rendezvous hashing, weighted: every worker computes which worker should own a shard. Workers with
 * the same view agree without a coordinator.
 *
 * Each worker and shard draw a number u in (0, 1) by hash, and the worker with the highest score
 * -weight / ln(u) gets the shard. So a worker's share follows its weight, and a worker that joins,
 * leaves or changes its weight moves its own share only (Thaler and Ravishankar 1998; the weights
 * after Schindelhauer and Schomaker 2005).
 *
 * Boundary: pure. The hash is frozen: workers of two versions must agree.
 */
export type Candidate = {
  readonly node: string;
  /** the text that is hashed */
  readonly name: string;
  /** above 0 */
  readonly weight: number;
};

/** The assigned node of each shard; undefined everywhere when there is no candidate. */
export function placeAll(
  candidates: readonly Candidate[],
  shards: number,
): readonly (string | undefined)[] {
  const all = candidates.map(withSeeds);
  return Array.from({ length: shards }, (_, shard) => best(all, shard)?.node);
}

/** The assigned node of this shard. */
export const placeOne = (candidates: readonly Candidate[], shard: number): string | undefined =>
  best(candidates.map(withSeeds), shard)?.node;

/** The rank of `node` for this shard: 0 is the assigned one. */
export function rankOf(candidates: readonly Candidate[], node: string, shard: number): number {
  const all = candidates.map(withSeeds);
  const self = all.find((one) => one.node === node);
  if (!self) return all.length;
  const score = scoreOf(self, shard);
  return all.filter((one) => one !== self && wins(one, scoreOf(one, shard), self, score)).length;
}

/** The score of a name for a shard; only the order of scores has a meaning. */
export const score = (name: string, weight: number, shard: number): number =>
  scoreOf(withSeeds({ node: name, name, weight }), shard);

type Seeded = Candidate & { readonly seeds: readonly [number, number] };

const withSeeds = (candidate: Candidate): Seeded => ({
  ...candidate,
  seeds: [fnv1a(candidate.name, 0x811c9dc5), fnv1a(candidate.name, 0x9e3779b9)],
});

function best(candidates: readonly Seeded[], shard: number): Seeded | undefined {
  let winner: Seeded | undefined;
  let highest = 0;
  for (const candidate of candidates) {
    const reached = scoreOf(candidate, shard);
    if (winner && !wins(candidate, reached, winner, highest)) continue;
    winner = candidate;
    highest = reached;
  }
  return winner;
}

/** Equal scores are two processes of one name, or a chance of 1 in 2^53: the texts decide. */
const wins = (a: Seeded, scoreA: number, b: Seeded, scoreB: number): boolean =>
  scoreA !== scoreB ? scoreA > scoreB : a.name !== b.name ? a.name < b.name : a.node < b.node;

function scoreOf({ seeds: [first, second], weight }: Seeded, shard: number): number {
  const high = mix(first ^ Math.imul(shard + 1, 0x9e3779b1));
  const low = mix((second + Math.imul(shard + 1, 0x85ebca77)) ^ high) >>> 11;
  return -weight / Math.log((high * 2 ** 21 + low + 0.5) / 2 ** 53);
}

/** FNV-1a over UTF-16 units: names are ASCII. */
function fnv1a(text: string, seed: number): number {
  let hash = seed;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}

/** The finalizer of MurmurHash3: every bit of the result depends on every bit of the input. */
function mix(seed: number): number {
  let hash = seed ^ (seed >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
