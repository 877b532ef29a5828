/** The command for service level objectives. */
import type { Command } from 'commander';
import { examples, type Finish, wholeNumber, withClient, withJson } from './command-parts.ts';
import type { SloOptions } from './slo.ts';

export function addSloCommand(program: Command, finish: Finish): void {
  withJson(withClient(program.command('slo')))
    .description('whether the cell keeps what it promises: exit code 1 when not')
    .option('--hours <n>', 'look back so far, 1 to 24; default 24', wholeNumber)
    .option('--tenant <name>', 'whose tasks; default those of the gateway')
    .addHelpText('after', examples('troupe slo', 'troupe slo --hours 1 --json'))
    .action(async (options: SloOptions) => finish(await (await import('./slo.ts')).slo(options)));
}
