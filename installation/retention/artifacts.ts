/**
 * Artifacts: files that were neither stored nor signed since. A file that the state of an actor
 * names, as that of a task, stays, and so does one that a held session names. An item is the hash.
 */
import { nextOf } from './next.ts';
import { hashesIn } from '../erasure/mentions.ts';
import { type KindParts, type KindSweep, Picking, removeEach } from './kind.ts';

export const artifacts: KindSweep = {
  async pick(parts, input) {
    const { tenant, before, cursor } = input;
    const picking = new Picking(input);
    const { unused } = await parts.bucket();
    const hashes = (await unused?.list(tenant, before, cursor ?? '')) ?? [];
    if (hashes.length === 0) return picking.picked(null);
    const isTenantHeld = parts.holds.isTenantHeld(tenant);
    const [used, held] = [await usedHashes(parts, tenant), await parts.holds.heldHashes(tenant)];
    for (const hash of hashes) {
      if (!used.has(hash))
        await picking.add(hash, isTenantHeld || held.has(hash), async () =>
          unused === undefined ? 0 : unused.bytesOf(tenant, hash),
        );
      if (picking.isFull) return picking.picked(nextOf(hash, hashes));
    }
    return picking.picked(null);
  },
  async remove(parts, { tenant, before }, hashes) {
    const { unused } = await parts.bucket();
    const [used, held] = [await usedHashes(parts, tenant), await parts.holds.heldHashes(tenant)];
    return removeEach(hashes, parts.signal, async (hash) => {
      const stays = used.has(hash) || held.has(hash) || parts.holds.isTenantHeld(tenant);
      return !stays && unused !== undefined && unused.remove(tenant, hash, before);
    });
  },
};

/** Files that the state of an actor names; rows of the retention itself do not count. */
async function usedHashes(
  { system, signal }: KindParts,
  tenant: string,
): Promise<ReadonlySet<string>> {
  const hashes = new Set<string>();
  for await (const row of system.erasing.rows(tenant)) {
    signal.throwIfAborted();
    if (row.kind !== 'actor' || row.type === 'retention') continue;
    for (const hash of hashesIn(row.context)) hashes.add(hash);
  }
  return hashes;
}
