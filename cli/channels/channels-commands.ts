/** The commands for accounts of messengers that change the configuration file. */
import { type Command, Option } from 'commander';
import { accountFields, BUILT_IN_CHANNELS } from '../../runtime/config/schema/channels.ts';
import { examples, type Finish, withJson } from '../command-parts.ts';
import type { AccountOptions } from './accounts.ts';

/** The options of `add`, by the setting that each one gives. Channels may share one. */
const SETTINGS: ReadonlyMap<string, Option> = settings();

function settings(): ReadonlyMap<string, Option> {
  const found = new Map<string, Option>();
  for (const channel of BUILT_IN_CHANNELS)
    for (const { name, description, isSecret } of accountFields(channel)) {
      const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
      const text = `${channel}: ${description}`;
      const option = found.get(name);
      if (option) option.description += `; ${text}`;
      else found.set(name, new Option(`${flag} <${isSecret ? 'secret' : 'value'}>`, text));
    }
  return found;
}

type Parsed = AccountOptions & Readonly<Record<string, string | undefined>>;

export function addChannelCommands(channels: Command, finish: Finish): void {
  const load = () => import('./accounts.ts');
  const command = (name: string) =>
    withJson(
      channels
        .command(name)
        .option('--account <name>', 'name of the account', 'main')
        .option('--config <file>', 'configuration file (TROUPE_CONFIG)')
        .option('--data <dir>', 'data folder (TROUPE_HOME; default: ~/.troupe)'),
    );
  const add = command('add [channel]')
    .description('add an account to the configuration file; asks for what is not given')
    .addHelpText(
      'after',
      `\nA secret is env:NAME (a variable of the environment) or file:PATH (the first line of a file).\n${examples(
        'troupe channels add telegram --token env:TELEGRAM_TOKEN',
        'troupe channels add slack --account work --bot-token env:SLACK_BOT_TOKEN --app-token env:SLACK_APP_TOKEN',
        'troupe channels add',
      )}`,
    )
    .action(async (channel: string | undefined, options: Parsed) => {
      const given = [...SETTINGS].flatMap(([name, option]) => {
        const value = options[option.attributeName()];
        return value === undefined ? [] : [[name, value] as const];
      });
      finish(await (await load()).add(channel, Object.fromEntries(given), options));
    });
  for (const option of SETTINGS.values()) add.addOption(option);
  command('remove <channel>')
    .description('remove an account from the configuration file')
    .addHelpText('after', examples('troupe channels remove telegram --account work'))
    .action(async (channel: string, options: AccountOptions) =>
      finish(await (await load()).remove(channel, options)),
    );
}
