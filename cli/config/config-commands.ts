/** The commands of `troupe config`. */
import type { Command } from 'commander';
import {
  defaultCommand,
  examples,
  type Finish,
  withClient,
  withConfig,
  withJson,
  withNats,
} from '../command-parts.ts';
import type { CommonOptions } from '../options.ts';
import type { ConfigRouteOptions } from './config-route.ts';
import type { ConfigSetOptions } from './config-set.ts';

export const configGroup = 'config';

/** @param args the command line: the operations are loaded only when it names the group */
export const addConfigCommands =
  (args: readonly string[]) =>
  async (program: Command, finish: Finish): Promise<void> => {
    const config = program.command(configGroup).description('the configuration');
    addFileCommands(config, finish);
    addRoute(config, finish);
    if (!args.includes(configGroup)) return;
    const [{ addOperations }, { settings }] = await Promise.all([
      import('../operation-commands.ts'),
      import('../../operations/settings.ts'),
    ]);
    addOperations(config, finish, settings.operations);
  };

function addFileCommands(config: Command, finish: Finish): void {
  const load = () => import('./config.ts');
  withJson(withConfig(defaultCommand(config, 'show')))
    .description('print every value and its source; secrets as ***')
    .action(async (options: CommonOptions) => finish(await (await load()).show(options)));
  withJson(withConfig(config.command('init')))
    .description('write a configuration file with comments, and its JSON Schema beside it')
    .addHelpText(
      'after',
      examples('troupe config init', 'troupe config init --config ./troupe.json5'),
    )
    .action(async (options: CommonOptions) => {
      finish(await (await import('./config-init.ts')).init(options));
    });
  withJson(withConfig(config.command('check')))
    .description('check the configuration, and print every problem')
    .addHelpText('after', examples('troupe config check --config ./troupe.json5'))
    .action(async (options: CommonOptions) => finish(await (await load()).check(options)));
  withJson(withNats(withConfig(config.command('apply'))))
    .description('apply the settings of the file to a whole cluster')
    .addHelpText(
      'after',
      examples('troupe config apply --nats nats://127.0.0.1:4222 --config ./troupe.json5'),
    )
    .action(async (options: CommonOptions) => {
      finish(await (await import('./config-apply.ts')).apply(options));
    });
  config
    .command('schema')
    .description('print the JSON Schema of the configuration')
    .addHelpText('after', examples('troupe config schema > troupe.schema.json'))
    .action(async () => finish(await (await load()).schema()));
  config
    .command('reference')
    .description('print the explanation of every key, in Markdown')
    .action(async () => finish(await (await load()).reference()));
}

function addRoute(config: Command, finish: Finish): void {
  withJson(withClient(config.command('set <path> <value>')))
    .description('change one key in the file, or in every process of the cluster; null removes it')
    .option('--cluster', 'in every process of the cluster, for keys that are applied at once')
    .addHelpText(
      'after',
      examples(
        'troupe config set log.level debug',
        'troupe config set session.agentToAgent.maxHops 8 --cluster',
      ),
    )
    .action(async (path: string, value: string, options: ConfigSetOptions) => {
      finish(await (await import('./config-set.ts')).set(path, value, options));
    });
  withJson(withConfig(config.command('route <channel:account>')))
    .description('print the agent and session that a message would go to, and by which rule')
    .requiredOption('--sender <id>', 'id of the sender at the service')
    .option('--username <name>', 'user name of the sender')
    .option('--group <id>', 'group of the message; without it a direct message')
    .option('--guild <id>', 'guild or workspace of the group')
    .option('--thread <id>', 'topic or thread in the group')
    .option('--mention', 'the message mentions the account')
    .option('--text <text>', 'its text, for hooks')
    .addHelpText('after', examples('troupe config route telegram:main --sender 42'))
    .action(async (name: string, options: ConfigRouteOptions) => {
      finish(await (await import('./config-route.ts')).route(name, options));
    });
}
