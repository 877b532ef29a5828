/** The check of `troupe doctor` on backups: the age of the newest verified one. */
import { existsSync } from 'node:fs';
import { readBackupNotes, verifiedBackupAge } from '../../installation/backup-parts.ts';
import { type Config, storeFolder } from '../../runtime/config/index.ts';
import { type Finding, ok, warn } from './doctor-finding.ts';

const CHECK = 'backup';
const DAY_SECONDS = 86_400;
const DAYS_MAX = 7;

/** An installation that was never backed up is no fault; one whose backups are old may be. */
export function* backupAge(config: Config): Generator<Finding> {
  if (!existsSync(storeFolder(config))) return;
  const { to } = readBackupNotes(config);
  const days = verifiedBackupAge(config) / DAY_SECONDS;
  if (days <= DAYS_MAX)
    yield ok(CHECK, `the newest verified backup is ${Math.floor(days)} days old`);
  else if (to === undefined && days === Infinity)
    yield ok(
      CHECK,
      'none yet',
      'troupe backup create --to FOLDER, then troupe backup verify FOLDER',
    );
  else
    yield warn(
      CHECK,
      days === Infinity
        ? 'no backup was verified'
        : `the newest verified backup is ${Math.floor(days)} days old`,
      `troupe backup verify ${to ?? 'FOLDER'}`,
    );
}
