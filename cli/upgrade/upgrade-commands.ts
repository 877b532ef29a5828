/** The commands that show and end an upgrade to another version of troupe. */
import type { Command } from 'commander';
import {
  defaultCommand,
  examples,
  type Finish,
  withClient,
  withJson,
  withNats,
} from '../command-parts.ts';
import type { UpgradeOptions } from './upgrade.ts';

export function addUpgradeCommands(program: Command, finish: Finish): void {
  const group = program
    .command('upgrade')
    .description(
      'formats of records: what each process reads and writes, and the end of an upgrade',
    );
  withNats(withJson(withClient(defaultCommand(group, 'status'))))
    .description(
      'show formats, versions and shards of all processes, and whether finish is allowed',
    )
    .addHelpText('after', examples('troupe upgrade status', 'troupe upgrade status --json'))
    .action(async (options: UpgradeOptions) => {
      finish(await (await import('./upgrade.ts')).status(options));
    });
  withNats(withJson(withClient(group.command('finish'))))
    .description(
      'write the newest format from now on; older versions of troupe refuse to start then',
    )
    .addHelpText(
      'after',
      examples('troupe upgrade finish', 'troupe upgrade finish --nats nats://127.0.0.1:4222'),
    )
    .action(async (options: UpgradeOptions) => {
      finish(await (await import('./upgrade.ts')).finish(options));
    });
}
