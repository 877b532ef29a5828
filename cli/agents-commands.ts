/** The commands for registered agents. */
import { type Command, Option } from 'commander';
import type { AgentsListOptions } from './agents.ts';
import { examples, type Finish, withClient, withJson } from './command-parts.ts';

export function addAgentsCommands(program: Command, finish: Finish): void {
  const agents = program.command('agents').description('the agents that are registered');
  withJson(withClient(agents.command('list')))
    .description('list them with their status, when they were last seen, and their actions')
    .addOption(
      new Option('--status <status>', 'only those of one').choices(['live', 'degraded', 'gone']),
    )
    .addHelpText('after', examples('troupe agents list', 'troupe agents list --status gone --json'))
    .action(async (options: AgentsListOptions) => {
      finish(await (await import('./agents.ts')).list(options));
    });
}
