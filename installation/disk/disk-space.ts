/** Measures the disks on which a process of troupe stores data. */
import { existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DiskSpace, DiskThresholds } from '../../protocols/disk.ts';
import type { Config } from '../../runtime/config/index.ts';
import { artifactsFolder } from '../artifact-bucket.ts';

export type DiskConfig = Pick<Config, 'home' | 'a2a' | 'runtime'>;

export type MeasuredDisk = Omit<DiskSpace, 'state'> & {
  /** names the disk on this machine */
  readonly device: number;
};

/** Each disk once. A folder that does not exist counts where it would be created. */
export function measuredDisks(
  config: DiskConfig,
  rules: Config['runtime']['disk'] = config.runtime.disk,
): readonly MeasuredDisk[] {
  const disks = new Map<number, MeasuredDisk>();
  for (const folder of dataFolders(config)) {
    const at = existingAncestor(folder);
    try {
      const { dev: device } = statSync(at);
      if (disks.has(device)) continue;
      const space = spaceOf(at);
      const thresholds = thresholdsOf(space.sizeBytes, rules);
      disks.set(device, { device, folder, ...space, thresholds });
    } catch {
      // The folder was removed meanwhile, or cannot be read: the next look finds it.
    }
  }
  return [...disks.values()];
}

/** For programs without privileges. */
const spaceOf = (folder: string): Pick<DiskSpace, 'freeBytes' | 'sizeBytes'> => {
  const { bavail, blocks, bsize } = statfsSync(folder);
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
};

const thresholdsOf = (sizeBytes: number, rules: Config['runtime']['disk']): DiskThresholds => ({
  warn: Math.min((sizeBytes * rules.warnPercent) / 100, rules.warnBytes),
  readOnly: Math.min((sizeBytes * rules.readOnlyPercent) / 100, rules.readOnlyBytes),
});

/** Where a process stores data; several may be on one disk. */
const dataFolders = (config: DiskConfig): readonly string[] => [
  config.home,
  config.runtime.workspaces.path ?? join(config.home, 'workspaces'),
  artifactsFolder(config),
];

export function existingAncestor(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : existingAncestor(dirname(path));
}
