/** The command for the audit log. */
import type { Command } from 'commander';
import type { AuditOptions } from './audit.ts';
import { examples, type Finish, wholeNumber, withClient, withJson } from './command-parts.ts';

export function addAuditCommands(program: Command, finish: Finish): void {
  withJson(withClient(program.command('audit')))
    .description('who did what: connects, approvals, settings, deletions, messages')
    .option('--day <date>', 'a UTC day, as 2026-05-04; default: the newest day with records')
    .option('--who <name>', 'only records of this principal')
    .option('--action <prefix>', 'only methods that start with this, as device.')
    .option('--limit <n>', 'maximum number of records, at most 500; default 100', wholeNumber)
    .addHelpText('after', examples('troupe audit', 'troupe audit --action device. --json'))
    .action(async (options: AuditOptions) => {
      finish(await (await import('./audit.ts')).audit(options));
    });
}
