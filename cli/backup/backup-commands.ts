/** The commands that back up an installation, and restore it. */
import type { Command } from 'commander';
import {
  defaultCommand,
  examples,
  type Finish,
  wholeNumber,
  withConfig,
  withJson,
} from '../command-parts.ts';
import type {
  CreateOptions,
  KeygenOptions,
  ListOptions,
  PruneOptions,
  RestoreOptions,
  VerifyOptions,
} from './backup.ts';

export function addBackupCommands(program: Command, finish: Finish): void {
  const group = program
    .command('backup')
    .description('back up an installation while it runs; see troupe restore');
  addList(group, finish);
  addCreate(group, finish);
  addVerify(group, finish);
  addPrune(group, finish);
  addKeygen(group, finish);
  addRestore(program, finish);
}

const more = (value: string, all: readonly string[] = []): readonly string[] => [...all, value];

const withOpening = (command: Command): Command =>
  command
    .option('--passphrase-file <file>', 'passphrase; default TROUPE_BACKUP_PASSPHRASE')
    .option('--identity <file>', 'private key of a recipient, from troupe backup keygen');

function addList(group: Command, finish: Finish): void {
  withJson(withConfig(defaultCommand(group, 'list')))
    .option('--from <folder>', 'a folder of backups; default: that of the last backup')
    .description('list the backups in a folder, oldest first')
    .action(async (options: ListOptions) => {
      finish(await (await import('./backup.ts')).list(options));
    });
}

function addCreate(group: Command, finish: Finish): void {
  withJson(withConfig(group.command('create')))
    .requiredOption('--to <path>', 'a folder of backups; or one file, if it ends with .troupe')
    .option('--recipient <key>', 'encrypt for this public key; may be repeated', more)
    .option('--passphrase-file <file>', 'encrypt; default TROUPE_BACKUP_PASSPHRASE')
    .option('--keep <n>', 'afterwards remove all but the newest n backups', wholeNumber)
    .description('write a backup, while troupe runs or not')
    .addHelpText(
      'after',
      examples(
        'troupe backup create --to /mnt/backups --keep 14',
        'troupe backup create --to b.troupe',
      ),
    )
    .action(async (options: CreateOptions) => {
      finish(await (await import('./backup.ts')).create(options));
    });
}

function addVerify(group: Command, finish: Finish): void {
  withOpening(withJson(withConfig(group.command('verify'))))
    .argument('<path>', 'a folder of backups (the newest one), one backup, or a file')
    .option('--temporary <folder>', 'where it is restored; default: the temporary folder')
    .description('restore a backup into a temporary folder, and fold every shard')
    .action(async (path: string, options: VerifyOptions) => {
      finish(await (await import('./backup.ts')).verify(path, options));
    });
}

function addPrune(group: Command, finish: Finish): void {
  withJson(group.command('prune'))
    .argument('<folder>', 'a folder of backups')
    .requiredOption('--keep <n>', 'how many backups stay, the newest ones', wholeNumber)
    .description('remove old backups, and the files that no other backup refers to')
    .action(async (folder: string, options: PruneOptions) => {
      finish(await (await import('./backup.ts')).prune(folder, options));
    });
}

function addKeygen(group: Command, finish: Finish): void {
  withJson(group.command('keygen'))
    .argument('<file>', 'where to write the private key; keep it away from the backups')
    .description('make a key pair for encrypted backups, and print the public key')
    .action(async (file: string, options: KeygenOptions) => {
      finish(await (await import('./backup.ts')).keygen(file, options));
    });
}

function addRestore(program: Command, finish: Finish): void {
  withOpening(withJson(program.command('restore')))
    .argument('<path>', 'a folder of backups (the newest one), one backup, or a file')
    .requiredOption('--data <folder>', 'the new data folder: absent, or empty')
    .option('--erasures <file>', 'a ledger of erasures to repeat; may be repeated', more)
    .description('make a data folder from a backup')
    .addHelpText('after', examples('troupe restore /mnt/backups --data ~/restored'))
    .action(async (path: string, options: RestoreOptions) => {
      finish(await (await import('./backup.ts')).restore(path, options));
    });
}
