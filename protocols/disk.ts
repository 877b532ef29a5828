/** Free space of the disks of a process, as operators see it. */

/** `low`: operators are warned. `readOnly`: no new work is accepted. */
export type DiskState = 'enough' | 'low' | 'readOnly';

/** Bytes. A threshold of 0 is disabled. */
export type DiskThresholds = { readonly warn: number; readonly readOnly: number };

/** One disk, as it was last measured. */
export type DiskSpace = {
  /** the first folder with data on it */
  readonly folder: string;
  readonly state: DiskState;
  readonly freeBytes: number;
  readonly sizeBytes: number;
  /** free bytes below which the state begins */
  readonly thresholds: DiskThresholds;
};
