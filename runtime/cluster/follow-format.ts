/**
 * Follows the format of the cell: another process that writes a newer one has noticed the change.
 */
import { errorData } from '../../protocols/errors.ts';
import type { CellFormat } from '../cell-format.ts';
import { formatNeeded } from '../shard/commit/record-format.ts';
import type { Members } from './members.ts';

type FormatOptions = {
  readonly format: CellFormat;
  readonly onAlarm: (what: string) => void;
  /** this process cannot read the format: it was started while the upgrade was finished */
  readonly onNewer: () => void;
};

/** A record of the cell that cannot be read now is read at a later heartbeat. */
export function followFormat(
  members: Pick<Members, 'onHeartbeat'>,
  { format, onAlarm, onNewer }: FormatOptions,
): void {
  let isBusy = false;
  const read = async (): Promise<void> => {
    isBusy = true;
    try {
      await format.read();
      isBusy = false;
    } catch (error) {
      // A program that cannot read it never will, so it says so once.
      isBusy = formatNeeded(error) !== undefined;
      if (!isBusy) return;
      onAlarm(errorData(error).message);
      onNewer();
    }
  };
  members.onHeartbeat(({ writes = 0 }) => {
    if (writes > format.writes && !isBusy) void read();
  });
}
