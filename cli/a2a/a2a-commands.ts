/** The commands for agents outside (Agent2Agent protocol). They need no gateway. */
import type { Command } from 'commander';
import { defaultCommand, examples, type Finish, withConfig, withJson } from '../command-parts.ts';
import type { CommonOptions } from '../options.ts';
import type { AddOptions } from './a2a.ts';

export function addA2aCommands(program: Command, finish: Finish): void {
  const a2a = program
    .command('a2a')
    .description('Agent2Agent protocol: agents outside that agents delegate to');
  const load = () => import('./a2a.ts');
  const withOptions = (made: Command) => withJson(withConfig(made));
  const command = (name: string) => withOptions(a2a.command(name));
  command('add <name> <url>')
    .description('show the card of an agent outside, and add the agent to the configuration')
    .option('--bearer-env <variable>', 'environment variable with a token for the agent')
    .option('--bearer-file <file>', 'file with a token for the agent')
    .option('--allow-private', 'the agent is in a private network, or on this machine')
    .option('--require-signature', 'refuse a card without a signature')
    .option('--legacy', 'accept an agent of version 0.3')
    .option('-y, --yes', 'do not ask')
    .addHelpText(
      'after',
      examples(
        'troupe a2a add weather https://weather.example',
        'troupe a2a add local http://127.0.0.1:4000 --allow-private --yes',
      ),
    )
    .action(async (name: string, url: string, options: AddOptions) =>
      finish(await (await load()).add(name, url, options)),
    );
  withOptions(defaultCommand(a2a, 'list'))
    .description('agents outside that the configuration has')
    .action(async (options: CommonOptions) => finish(await (await load()).list(options)));
  command('card <name>')
    .description('read the card of an agent now: its skills, its interface, who has signed it')
    .action(async (name: string, options: CommonOptions) =>
      finish(await (await load()).card(name, options)),
    );
  command('trust <name>')
    .description('accept the key that signs the card of an agent now')
    .option('-y, --yes', 'do not ask')
    .action(async (name: string, options: CommonOptions & { readonly yes?: boolean }) =>
      finish(await (await load()).trust(name, options)),
    );
  command('remove <name>')
    .description('remove an agent from the configuration')
    .action(async (name: string, options: CommonOptions) =>
      finish(await (await load()).remove(name, options)),
    );
}
