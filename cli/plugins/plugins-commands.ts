/** The commands for plugins that need no gateway. */
import type { Command } from 'commander';
import { examples, type Finish, withConfig, withJson } from '../command-parts.ts';
import type { CommonOptions } from '../options.ts';

export function addPluginCommands(plugins: Command, finish: Finish): void {
  const load = () => import('./plugins.ts');
  const command = (name: string) => withJson(withConfig(plugins.command(name)));
  command('check [id]')
    .description('check plugins as a start would: manifest, settings, permissions, and their code')
    .addHelpText('after', examples('troupe plugins check', 'troupe plugins check postage'))
    .action(async (id: string | undefined, options: CommonOptions) =>
      finish(await (await load()).check(id, options)),
    );
  command('enable <id>')
    .description('enable a plugin in the configuration file, and print what it may do')
    .action(async (id: string, options: CommonOptions) =>
      finish(await (await load()).setEnabled(id, true, options)),
    );
  command('disable <id>')
    .description('disable a plugin in the configuration file')
    .action(async (id: string, options: CommonOptions) =>
      finish(await (await load()).setEnabled(id, false, options)),
    );
  command('create <id>')
    .description('write a new plugin with a tool into the folder of plugins')
    .addHelpText('after', examples('troupe plugins create postage'))
    .action(async (id: string, options: CommonOptions) =>
      finish(await (await load()).create(id, options)),
    );
}
