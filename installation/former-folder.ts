/**
 * Files of a cluster that stored them in the data folder before its cell did. A file that is not in
 * the cell is read from the folder, and moves to the cell when it is read or signed.
 */
import { errorData } from '../protocols/errors.ts';
import type { UnusedArtifacts } from '../runtime/artifacts/artifacts.ts';
import type { Artifacts } from '../runtime/index.ts';

/** @param folder uses the same key for URLs as the cell */
export function withFolder(cell: Artifacts, folder: Artifacts): Artifacts {
  const orMoved = async <T>(tenant: string, hash: string, read: () => Promise<T>): Promise<T> => {
    try {
      return await read();
    } catch (error) {
      if (errorData(error).code !== 'NOT_FOUND') throw error;
      const found = await folder.get(tenant, hash).catch(() => undefined);
      if (!found) throw error;
      await cell.put(tenant, found.contents, { contentType: found.artifact.contentType });
      return read();
    }
  };
  return {
    put: (tenant, contents, options) => cell.put(tenant, contents, options),
    get: (tenant, hash) => orMoved(tenant, hash, () => cell.get(tenant, hash)),
    sign: (tenant, hash, options) => orMoved(tenant, hash, () => cell.sign(tenant, hash, options)),
    async remove(tenant, hash) {
      await cell.remove(tenant, hash);
      await folder.remove(tenant, hash);
    },
    resolve: (tenant, uri) => cell.resolve(tenant, uri),
    ...(cell.unused && folder.unused && { unused: ofBoth(cell.unused, folder.unused) }),
  };
}

const ofBoth = (cell: UnusedArtifacts, folder: UnusedArtifacts): UnusedArtifacts => ({
  async list(...place) {
    const found = [...(await cell.list(...place)), ...(await folder.list(...place))];
    return [...new Set(found)].toSorted();
  },
  async bytesOf(...file) {
    return (await cell.bytesOf(...file)) + (await folder.bytesOf(...file));
  },
  async remove(...file) {
    const isGone = await cell.remove(...file);
    return (await folder.remove(...file)) && isGone;
  },
});
