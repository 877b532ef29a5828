/** The commands for subagents. */
import type { Command } from 'commander';
import {
  defaultCommand,
  examples,
  type Finish,
  withClient,
  withJson,
  withTenant,
} from './command-parts.ts';
import type { OfTenant, SubagentsListOptions } from './subagents.ts';

const load = () => import('./subagents.ts');

export function addSubagentsCommands(program: Command, finish: Finish): void {
  const subagents = program.command('subagents').description('agents that work for other agents');
  const withAll = (command: Command) => withTenant(withJson(withClient(command)));
  const command = (name: string) => withAll(subagents.command(name));
  withAll(defaultCommand(subagents, 'list'))
    .description('list those that go on, the newest first')
    .option('--session <key>', 'only those of one session')
    .option('--all', 'those of the last 28 hours that have ended, too')
    .action(async (options: SubagentsListOptions) => finish(await (await load()).list(options)));
  command('census')
    .description('count them by state; fails when one should have ended by itself and has not')
    .action(async (options: OfTenant) => finish(await (await load()).census(options)));
  command('kill')
    .argument('<id>', 'the subagent')
    .requiredOption('--reason <text>', 'why; its parent is told')
    .description('end one, and all that it has started')
    .addHelpText(
      'after',
      examples("troupe subagents kill 6f1c5f0e-… --reason 'the question is answered'"),
    )
    .action(async (id: string, options: OfTenant & { reason: string }) => {
      finish(await (await load()).kill(id, options));
    });
  command('steer')
    .argument('<id>', 'the subagent')
    .argument('<text>', 'what it is told')
    .description('tell one something while it runs')
    .action(async (id: string, text: string, options: OfTenant) => {
      finish(await (await load()).steer(id, text, options));
    });
}
