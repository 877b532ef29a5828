/** Waits until the rows of a shard that are read in this process are as new as its journal. */
import { TroupeError } from '../../protocols/errors.ts';
import { journalSubject } from '../../protocols/subjects.ts';
import type { Clock } from '../clock/clock.ts';
import type { Log, Position } from '../log/log.ts';

/** How long a reader waits for current rows. */
const CATCH_UP_MS = 15_000;
const CATCH_UP_LOOK_MS = 20;

/** @throws TroupeError UNAVAILABLE after 15 seconds */
export async function rowsCaughtUp({
  log,
  env,
  clock,
  shard,
  readable,
  seen,
}: {
  readonly log: Pick<Log, 'last'>;
  readonly env: string;
  readonly clock: Clock;
  readonly shard: number;
  /** position up to which rows are read here */
  readonly readable: () => Position;
  /** resolves when a replica here, if there is one, contains the record, or after a second */
  readonly seen: (position: Position) => Promise<void>;
}): Promise<void> {
  const last = await log.last(journalSubject(env, shard));
  const untilMs = clock.monotonicMs() + CATCH_UP_MS;
  // The owner of the shard may change meanwhile: then the replica here has to reach the record.
  while (readable() < last) {
    if (clock.monotonicMs() >= untilMs)
      throw new TroupeError(
        'UNAVAILABLE',
        `the rows of shard ${shard} that are read here are behind by over ${CATCH_UP_MS / 1_000} s; try again`,
        { retryAfterMs: 1_000 },
      );
    await seen(last);
    if (readable() < last)
      await new Promise<void>((resolve) => clock.after(CATCH_UP_LOOK_MS, resolve));
  }
}
