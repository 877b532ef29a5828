/**
 * Memory index: the stored vectors of agents without a session that was active since. The notes
 * themselves stay, so a later search makes the vectors again. Texts that a batch is to embed stay.
 *
 * An item is the folder of an agent in the blobs.
 */
import { address } from '../../protocols/address.ts';
import type { SessionRow } from '../../protocols/session.ts';
import { isAwaited } from '../../memory/index.ts';
import { rowsOf } from '../../operations/rows.ts';
import { memoryPrefix, removeVectors } from '../blob-segments.ts';
import { type KindParts, type KindSweep, Picking, type Place, removeEach } from './kind.ts';
import { nextOf } from './next.ts';

export const memoryIndex: KindSweep = {
  async pick(parts, input) {
    const { tenant, cursor } = input;
    const picking = new Picking(input);
    const folders = [...(await foldersOf(parts, tenant)).keys()];
    const used = await usedFolders(parts, input);
    const isHeld = parts.holds.rows(tenant).length > 0;
    for (const folder of folders) {
      if (cursor !== null && folder <= cursor) continue;
      if (!used.has(folder)) await picking.add(folder, isHeld, () => bytesIn(parts, folder));
      if (picking.isFull) return picking.picked(nextOf(folder, folders));
    }
    return picking.picked(null);
  },
  async remove(parts, place, items) {
    const blobs = await parts.blobs();
    const used = await usedFolders(parts, place);
    return removeEach(items, parts.signal, async (folder) => {
      if (used.has(folder) || parts.holds.rows(place.tenant).length > 0) return false;
      await removeVectors(blobs, folder);
      return true;
    });
  },
};

/** Blobs are listed without their sizes. */
async function bytesIn({ blobs: opening }: KindParts, folder: string): Promise<number> {
  const blobs = await opening();
  let bytes = 0;
  for (const name of await blobs.list(folder)) bytes += (await blobs.get(name))?.length ?? 0;
  return bytes;
}

/** The names in each, in order. */
async function foldersOf(
  { blobs }: KindParts,
  tenant: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const folders = new Map<string, string[]>();
  for (const name of await (await blobs()).list(`memory/${tenant}/`)) {
    const folder = `${name.split('/').slice(0, 3).join('/')}/`;
    folders.set(folder, [...(folders.get(folder) ?? []), name.slice(folder.length)]);
  }
  return folders;
}

/** Of agents with a session that was active since, and with a batch under way. */
async function usedFolders(
  parts: KindParts,
  { tenant, before }: Place,
): Promise<ReadonlySet<string>> {
  const used = new Set<string>();
  for (const [folder, names] of await foldersOf(parts, tenant))
    if (names.some(isAwaited)) used.add(folder);
  for await (const { agentId, updatedAt } of rowsOf<SessionRow>(
    parts.system.index,
    'sessions',
    tenant,
  ))
    if (updatedAt >= before) used.add(memoryPrefix(address(tenant, 'agent', agentId)));
  return used;
}
