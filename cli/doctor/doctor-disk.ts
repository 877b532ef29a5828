/** The check of `troupe doctor` on the free space of every disk with data. */
import type { Config } from '../../runtime/config/index.ts';
import { bytes } from '../output.ts';
import { fail, type Finding, ok, warn } from './doctor-finding.ts';

const CHECK = 'free space';

/** One finding for each disk, by the thresholds of `runtime.disk`. */
export async function freeSpace(config: Config): Promise<readonly Finding[]> {
  const { measuredDisks } = await import('../../installation/disk/disk-space.ts');
  return measuredDisks(config).map(({ folder, freeBytes, thresholds }) => {
    const left = `${bytes(freeBytes)} on the disk with ${folder}`;
    const remedy = 'free some space, or move the folder; docs/runbooks.md, Disk full';
    if (freeBytes < thresholds.readOnly)
      return fail(CHECK, `${left}: read-only mode, no new work is accepted`, remedy);
    return freeBytes < thresholds.warn ? warn(CHECK, left, remedy) : ok(CHECK, left);
  });
}
