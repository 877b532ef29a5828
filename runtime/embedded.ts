/** openEmbedded: all ports of a system in this process, in one folder, without a server. */
import { join } from 'node:path';
import { defined } from '../protocols/defined.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { Blobs } from './blobs/blobs.ts';
import { openFileBlobs } from './blobs/files.ts';
import type { Bus } from './bus/bus.ts';
import { InProcessBus } from './bus/in-process.ts';
import type { EmbeddedStore } from './log/embedded-store.ts';
import { checkOptions, type OptionNames } from './option-names.ts';
import type { Durability } from './log/wal-store.ts';

export type EmbeddedOptions = {
  /** data folder of the installation; created if absent; used by one process at a time */
  readonly path: string;
  /** default `process` */
  readonly durability?: Durability;
  /** calls at the end of the turn of the event loop, or soon after it; default setImmediate */
  readonly atTurnEnd?: (call: () => void) => void;
  /** receives what an operator should see: the store cannot be written, or failed */
  readonly onAlarm?: (what: string) => void;
};

/** @param path of the store */
export const embeddedBlobsFolder = (path: string): string => join(path, 'blobs');

export type Ports = { readonly store: EmbeddedStore; readonly bus: Bus; readonly blobs: Blobs };

/**
 * Opens log, state, bus and blobs in one folder, for `createSystem`.
 *
 * @throws TroupeError INVALID_ARGUMENT for another durability, or a misspelled option; UNAVAILABLE
 * when another process has the folder; INTERNAL when its data is damaged
 * @example
 * ```ts
 * import { createSystem, openEmbedded } from 'troupe';
 *
 * const system = await createSystem({ ...(await openEmbedded({ path: 'shop' })), actors: [] });
 * await system.stop();
 * ```
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<Ports> {
  checkValues(options);
  const { path, durability = 'process', atTurnEnd, onAlarm } = options;
  // LMDB is native code: commands that only use names of this file do not load it.
  const { openEmbeddedStore } = await import('./log/embedded-store.ts');
  const store = await openEmbeddedStore({ path, durability, ...defined({ atTurnEnd, onAlarm }) });
  return { store, bus: new InProcessBus(), blobs: await openFileBlobs(embeddedBlobsFolder(path)) };
}

const OPTIONS = {
  path: 'required',
  durability: 'optional',
  atTurnEnd: 'optional',
  onAlarm: 'optional',
} satisfies OptionNames<EmbeddedOptions>;

// Checked for programs in JavaScript: a misspelled durability must not mean a weaker one.
function checkValues(options: EmbeddedOptions): void {
  checkOptions('openEmbedded', options, OPTIONS);
  const { path, durability = 'process' } = options;
  if (typeof path !== 'string' || path === '')
    throw invalid('path', path, 'the name of the data folder');
  if (durability !== 'process' && durability !== 'power')
    throw invalid('durability', durability, "'process' or 'power'");
}

const invalid = (option: string, value: unknown, allowed: string): TroupeError =>
  new TroupeError(
    'INVALID_ARGUMENT',
    `openEmbedded: ${option} is ${JSON.stringify(value)}, it must be ${allowed}`,
  );
