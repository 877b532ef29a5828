/** HistoryPolicy: what is kept of the turns of an actor type, and for how long. */

/**
 * `summary`: of each turn its input by name, result, states, and what it sent; `full`: also the
 * bodies and rows, so that it can be replayed.
 */
export const HISTORY_KEPT = ['none', 'summary', 'full'] as const;
export type HistoryKept = (typeof HISTORY_KEPT)[number];

export type HistoryPolicy = {
  readonly keep: HistoryKept;
  /** newest turns of one actor that are shown, 1 to 100,000; default 1,000 */
  readonly turns: number;
  /** age after which a turn is forgotten, 1 to 3,650; default 30 */
  readonly days: number;
};

export const DEFAULT_POLICY: HistoryPolicy = { keep: 'summary', turns: 1_000, days: 30 };

export const HISTORY_BOUNDS = { turns: [1, 100_000], days: [1, 3_650] } as const;

/** History of a system, as it is configured. */
export type HistorySettings = {
  /** bytes of all segments and bodies; the oldest are removed first. Default 1 GiB */
  readonly bytesMax?: number;
  /** by actor type, in place of what its definition says */
  readonly types?: Readonly<Record<string, Partial<HistoryPolicy>>>;
};

/** What the owner of a shard, and a reader, know of it. */
export type HistoryRules = {
  policyOf(type: string): HistoryPolicy;
  /** of one shard */
  readonly bytesMax: number;
  /** the longest of any type with summaries */
  readonly daysMax: number;
};

const BYTES_MAX = 2 ** 30;
/** So that the newest turns of a busy shard stay, however many shards there are. */
const SHARD_BYTES_MIN = 2 ** 20;

type Definitions = {
  latest(type: string): { readonly history: Partial<HistoryPolicy> } | undefined;
  all(): readonly { readonly type: string }[];
};

/** @param shards of the cell, which share the bytes */
export function historyRules(
  registry: Definitions,
  shards: number,
  { bytesMax = BYTES_MAX, types = {} }: HistorySettings = {},
): HistoryRules {
  const policies = new Map<string, HistoryPolicy>();
  const resolve = (type: string): HistoryPolicy => ({
    ...DEFAULT_POLICY,
    ...registry.latest(type)?.history,
    ...(Object.hasOwn(types, type) ? types[type] : {}),
  });
  return {
    bytesMax: Math.max(Math.floor(bytesMax / shards), SHARD_BYTES_MIN),
    daysMax: Math.max(0, ...registry.all().map(({ type }) => resolve(type).days)),
    policyOf(type) {
      const known = policies.get(type);
      if (known) return known;
      const policy = resolve(type);
      // Messages may name any type: only those that exist are remembered.
      if (registry.latest(type)) policies.set(type, policy);
      return policy;
    },
  };
}
