/** An embedded store on a simulated disk. */
import { systemClock } from '../../../runtime/clock/clock.ts';
import type { Log } from '../../../runtime/log/log.ts';
import { type Durability, openWalStore, type WalStore } from '../../../runtime/log/wal-store.ts';
import type { SimulatedDisk } from './simulated-disk.ts';

const CELL = '00112233445566778899aabbccddeeff';
export const bytes = Buffer.from('entry');

type Options = {
  readonly durability?: Durability;
  /** no checkpoint by itself; default true */
  readonly isLazy?: boolean;
  readonly onAlarm?: (what: string) => void;
};

export const open = (disk: SimulatedDisk, options: Options = {}): Promise<WalStore> => {
  const { durability = 'process', isLazy = true, onAlarm } = options;
  return openWalStore({
    ...disk.open(),
    path: '/data',
    cell: CELL,
    durability,
    clock: systemClock,
    release: async () => {},
    syncEveryMs: isLazy ? 3_600_000 : 0,
    checkpointEveryMs: isLazy ? 3_600_000 : 0,
    ...(onAlarm ? { onAlarm } : {}),
  });
};

/** The entries of a subject. */
export const texts = async (log: Log, subject = 's'): Promise<string[]> =>
  (await log.read(subject, 1)).map((entry) => Buffer.from(entry.bytes).toString());

/** The segment that is written to. */
export const newest = (disk: SimulatedDisk) =>
  disk.segments.get([...disk.segments.keys()].sort().at(-1)!)!;
