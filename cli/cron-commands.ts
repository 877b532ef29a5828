/** The commands for messages at later times. */
import { type Command, Option } from 'commander';
import {
  examples,
  type Finish,
  wholeNumber,
  withClient,
  withJson,
  withTenant,
} from './command-parts.ts';
import type { CronAddOptions, CronListOptions } from './cron.ts';

const load = () => import('./cron.ts');

export function addCronCommands(program: Command, finish: Finish): void {
  const cron = program.command('cron').description('messages to agents at later times');
  const command = (name: string) => withTenant(withJson(withClient(cron.command(name))));
  command('list')
    .description('list the jobs, those that fire next first')
    .option('--agent <id>', 'only those of one agent')
    .action(async (options: CronListOptions) => finish(await (await load()).list(options)));
  addAdd(command('add'), finish);
  command('remove')
    .argument('<id>', 'the job')
    .description('take a job away; what runs goes on')
    .action(async (id: string, options: CronListOptions) => {
      finish(await (await load()).remove(id, options));
    });
  command('run')
    .argument('<id>', 'the job')
    .description('fire a job now, beside its times')
    .action(async (id: string, options: CronListOptions) => {
      finish(await (await load()).run(id, options));
    });
  command('runs')
    .argument('<id>', 'the job')
    .description('list the last runs of a job, the newest first')
    .action(async (id: string, options: CronListOptions) => {
      finish(await (await load()).runs(id, options));
    });
}

function addAdd(command: Command, finish: Finish): void {
  command
    .description('set a job, new or instead of the one of that id')
    .requiredOption('-m, --message <text>', 'what the agent is told')
    .option('--agent <id>', 'who is told', 'main')
    .option('--id <id>', 'id of the job; default a new one')
    .option('--name <name>', 'for lists; default the first words of the message')
    .option('--session <key>', 'where it is told; default a session of the job’s own')
    .option('--at <time>', 'once: ISO 8601 with its offset')
    .option('--every <seconds>', 'again and again', wholeNumber)
    .option('--cron <expression>', 'a cron expression of 5 fields, or 6 with seconds in front')
    .option('--tz <zone>', 'IANA time zone of --cron; default UTC')
    .addOption(
      new Option(
        '--missed <policy>',
        'for times that passed while nothing ran; default once',
      ).choices(['once', 'fire-late', 'skip']),
    )
    .addHelpText(
      'after',
      examples(
        "troupe cron add --cron '0 9 * * 1-5' --tz Europe/Berlin -m 'Sum up my mail.'",
        "troupe cron add --at 2027-01-01T09:00:00+01:00 -m 'Wish me a happy new year.'",
        "troupe cron add --id pulse --every 3600 --missed skip -m 'Look at the servers.'",
      ),
    )
    .action(async (options: CronAddOptions) => finish(await (await load()).add(options)));
}
