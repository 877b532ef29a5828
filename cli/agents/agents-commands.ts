/** The commands for registered agents. */
import { type Command, Option } from 'commander';
import type { AgentsListOptions } from './agents.ts';
import type { AgentsPolicyOptions } from './agents-policy.ts';
import {
  examples,
  type Finish,
  withClient,
  withConfig,
  withJson,
  withTenantOf,
} from '../command-parts.ts';

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
  withTenantOf(withJson(withConfig(agents.command('policy'))))
    .argument('[from]', 'the acting agent; default each of them')
    .argument('[to]', 'the other agent; default each of them')
    .description(
      'which agents may find, read, write to and start each other, and which setting refuses it; works without a gateway',
    )
    .option('--session <name>', 'last part of the acting session’s key; default the main one')
    .addHelpText(
      'after',
      examples('troupe agents policy', 'troupe agents policy writer main --session web'),
    )
    .action(async (from: string | undefined, to: string | undefined, _: object, own: Command) => {
      const options = own.opts<AgentsPolicyOptions>();
      finish(await (await import('./agents-policy.ts')).agentsPolicy(from, to, options));
    });
}
