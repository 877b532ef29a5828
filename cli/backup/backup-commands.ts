/** The commands that back up an installation, and restore it. */
import type { Command } from 'commander';
import {
  defaultCommand,
  examples,
  type Finish,
  wholeNumber,
  withConfig,
  withJson,
  withNats,
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

const withS3 = (command: Command): Command =>
  command.option(
    '--endpoint <url>',
    'of the S3 store, for s3://bucket/prefix (AWS_ENDPOINT_URL_S3)',
  );

const withOpening = (command: Command): Command =>
  command
    .option('--passphrase-file <file>', 'passphrase; default TROUPE_BACKUP_PASSPHRASE')
    .option('--identity <file>', 'private key of a recipient, from troupe backup keygen');

function addList(group: Command, finish: Finish): void {
  withS3(withJson(withConfig(defaultCommand(group, 'list'))))
    .option('--from <path>', 'a folder of backups, or s3://…; default: that of the last backup')
    .description('list the backups in a folder, oldest first, and which contain erased data')
    .action(async (options: ListOptions) => {
      finish(await (await import('./backup.ts')).list(options));
    });
}

function addCreate(group: Command, finish: Finish): void {
  withS3(withNats(withJson(withConfig(group.command('create')))))
    .requiredOption(
      '--to <path>',
      'a folder of backups, or s3://bucket/prefix; or one file, if it ends with .troupe',
    )
    .option('--recipient <key>', 'encrypt for this public key; may be repeated', more)
    .option('--passphrase-file <file>', 'encrypt; default TROUPE_BACKUP_PASSPHRASE')
    .option('--no-history', 'of a cluster: without what is kept of past turns')
    .option('--no-artifacts', 'without the files in the bucket a2a.artifacts.s3')
    .option('--keep <n>', 'afterwards remove all but the newest n backups', wholeNumber)
    .description('write a backup of the data folder or of the cluster, while it runs or not')
    .addHelpText(
      'after',
      examples(
        'troupe backup create --to /mnt/backups --keep 14',
        'troupe backup create --to b.troupe',
        'troupe backup create --nats nats://10.0.0.5:4222 --to s3://backups/troupe',
      ),
    )
    .action(async (options: CreateOptions) => {
      finish(await (await import('./backup.ts')).create(options));
    });
}

function addVerify(group: Command, finish: Finish): void {
  withS3(withOpening(withJson(withConfig(group.command('verify')))))
    .argument('<path>', 'a folder of backups or s3://… (the newest one), one backup, or a file')
    .option('--temporary <folder>', 'where it is restored; default: the temporary folder')
    .description('restore a backup into a temporary folder, and fold every shard')
    .action(async (path: string, options: VerifyOptions) => {
      finish(await (await import('./backup.ts')).verify(path, options));
    });
}

function addPrune(group: Command, finish: Finish): void {
  withS3(withJson(withConfig(group.command('prune'))))
    .argument('<folder>', 'a folder of backups, or s3://bucket/prefix')
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
  withS3(withNats(withOpening(withJson(program.command('restore')))))
    .argument('[path]', 'a folder of backups or s3://… (the newest one), one backup, or a file')
    .option('--from <path>', 'the same as <path>')
    .requiredOption('--data <folder>', 'the new data folder: absent, or empty')
    .option('--config <file>', 'configuration with the NATS servers, their env and credentials')
    .option('--erasures <file>', 'a ledger of erasures to repeat; may be repeated', more)
    .option('--no-artifacts', 'without the files that were in an S3 bucket')
    .option('--again', 'with --nats: repeat a restore that was interrupted')
    .description('make a data folder from a backup; with --nats also the cell of a cluster')
    .addHelpText(
      'after',
      examples(
        'troupe restore /mnt/backups --data ~/restored',
        'troupe restore s3://backups/troupe --data ~/restored --nats nats://10.0.0.9:4222',
      ),
    )
    .action(async (path: string | undefined, options: RestoreOptions & { from?: string }) => {
      const { from = path, ...rest } = options;
      if (from === undefined) program.error("error: missing required argument 'path'");
      finish(await (await import('./restore.ts')).restore(from, rest));
    });
}
