/** The commands for registered agents. */
import { type Command, Option } from 'commander';
import type { AgentsListOptions } from './agents.ts';
import type { AgentsPolicyOptions } from './agents-policy.ts';
import {
  defaultCommand,
  examples,
  type Finish,
  withClient,
  withConfig,
  withJson,
  withTenantOf,
} from '../command-parts.ts';

export function addAgentsCommands(program: Command, finish: Finish): void {
  const agents = program.command('agents').description('registered agents');
  withJson(withClient(defaultCommand(agents, 'list')))
    .description(
      'list the agents with their status, the time they were last seen, and their actions',
    )
    .addOption(
      new Option('--status <status>', 'only agents with this status').choices([
        'live',
        'degraded',
        'gone',
      ]),
    )
    .addHelpText('after', examples('troupe agents list', 'troupe agents list --status gone --json'))
    .action(async (options: AgentsListOptions) => {
      finish(await (await import('./agents.ts')).list(options));
    });
  withTenantOf(withJson(withConfig(agents.command('policy'))))
    .argument('[from]', 'the acting agent; default: every agent')
    .argument('[to]', 'the other agent; default: every agent')
    .description(
      'which agents may find, read, message and start each other, and which setting denies it; needs no gateway',
    )
    .option('--session <name>', 'last part of the acting session’s key; default: the main session')
    .addHelpText(
      'after',
      examples('troupe agents policy', 'troupe agents policy writer main --session web'),
    )
    .action(async (from: string | undefined, to: string | undefined, _: object, own: Command) => {
      const options = own.opts<AgentsPolicyOptions>();
      finish(await (await import('./agents-policy.ts')).agentsPolicy(from, to, options));
    });
}
