/** The commands for hooks. */
import { Argument, type Command } from 'commander';
import { HOOKS } from '../../agent/hooks/hooks.ts';
import {
  defaultCommand,
  examples,
  type Finish,
  withConfig,
  withJson,
  withTenantOf,
} from '../command-parts.ts';
import type { HooksTestOptions } from './hooks.ts';
import type { TenantOptions } from '../options.ts';

export function addHooksCommands(program: Command, finish: Finish): void {
  const hooks = program
    .command('hooks')
    .description('code of this installation that observes or changes runs');
  const load = () => import('./hooks.ts');
  withTenantOf(withJson(withConfig(defaultCommand(hooks, 'list'))))
    .description('load the files of the hooks folder, and list their hooks and errors')
    .addHelpText('after', examples('troupe hooks list', 'troupe hooks list --json'))
    .action(async (options: TenantOptions) => finish(await (await load()).list(options)));
  withTenantOf(withJson(withConfig(hooks.command('test'))))
    .addArgument(new Argument('<hook>', 'its name').choices(Object.keys(HOOKS)))
    .option('--event <json>', 'the event as JSON; - reads it from stdin; default: a sample')
    .option('--only <module>', 'only hooks of this module')
    .description('call the hooks of one name as a run would, and print the result')
    .addHelpText(
      'after',
      examples(
        'troupe hooks test before_tool_call',
        `troupe hooks test message_sending --event '{"text":"hello"}' --only sign`,
      ),
    )
    .action(async (hook: string, options: HooksTestOptions) => {
      finish(await (await load()).test(hook, options));
    });
}
