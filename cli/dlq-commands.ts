/** The commands for dead letters. */
import type { Command } from 'commander';
import { examples, type Finish, wholeNumber, withClient, withJson } from './command-parts.ts';
import type { DlqAuditOptions, DlqListOptions, DlqRedriveOptions } from './dlq.ts';
import type { ClientOptions } from './options.ts';

export function addDlqCommands(program: Command, finish: Finish): void {
  const dlq = program
    .command('dlq')
    .description('dead letters: messages that could not be applied or got done');
  addLooks(dlq, finish);
  addDeeds(dlq, finish);
}

const load = () => import('./dlq.ts');

function addLooks(dlq: Command, finish: Finish): void {
  withJson(withClient(dlq.command('list')))
    .description('list those that nobody has dealt with')
    .option('--domain <domain>', 'only those of one domain')
    .option('--limit <n>', 'so many at most, up to 1000; default 100', wholeNumber)
    .addHelpText('after', examples('troupe dlq list', 'troupe dlq list --domain orders --json'))
    .action(async (options: DlqListOptions) => finish(await (await load()).list(options)));
  withJson(withClient(dlq.command('show')))
    .argument('<letter>', 'domain/position')
    .description('print one with its message, and what was done about it')
    .addHelpText('after', examples('troupe dlq show orders/17'))
    .action(async (letter: string, options: ClientOptions) => {
      finish(await (await load()).show(letter, options));
    });
}

const withAudit = (command: Command) =>
  command
    .requiredOption('--why <text>', 'the reason; it is recorded')
    .option('--who <name>', 'who does it; recorded beside the token’s name; default your user');

function addDeeds(dlq: Command, finish: Finish): void {
  withAudit(withJson(withClient(dlq.command('redrive'))))
    .argument('[letter]', 'domain/position')
    .option('--all', 'all of a domain that nobody has dealt with')
    .option('--domain <domain>', 'with --all: which')
    .description('send one again as new, or all of a domain')
    .addHelpText(
      'after',
      examples(
        "troupe dlq redrive orders/17 --why 'the payment service is back'",
        "troupe dlq redrive --all --domain orders --why 'the payment service is back'",
      ),
    )
    .action(async (letter: string | undefined, options: DlqRedriveOptions) => {
      finish(await (await load()).redrive(letter, options));
    });
  withAudit(withJson(withClient(dlq.command('drop'))))
    .argument('<letter>', 'domain/position')
    .description('set one aside without sending it')
    .addHelpText('after', examples("troupe dlq drop orders/17 --why 'was paid by hand'"))
    .action(async (letter: string, options: DlqAuditOptions) => {
      finish(await (await load()).drop(letter, options));
    });
}
