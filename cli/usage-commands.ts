/** The command for usage. */
import type { Command } from 'commander';
import { examples, type Finish, withClient, withJson, withTenant } from './command-parts.ts';
import type { UsageOptions } from './usage.ts';

export function addUsageCommand(program: Command, finish: Finish): void {
  withTenant(withJson(withClient(program.command('usage'))))
    .description('tokens and money: the day of all agents, or an agent’s sessions')
    .option('--agent <id>', 'one agent, with its sessions, those that used most first')
    .option('--session <key>', 'one session, with its agent')
    .addHelpText(
      'after',
      examples(
        'troupe usage',
        'troupe usage --agent main',
        'troupe usage --session agent:main:main',
      ),
    )
    .action(async (options: UsageOptions) => {
      finish(await (await import('./usage.ts')).usage(options));
    });
}
