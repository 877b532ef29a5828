/** The commands for tasks that wait for a decision. */
import { Argument, type Command, InvalidArgumentError } from 'commander';
import { examples, type Finish, withClient, withJson, withTenant } from './command-parts.ts';
import type { DecideOptions, DecisionsOptions } from './decisions.ts';

export function addDecisionsCommands(program: Command, finish: Finish): void {
  const decisions = program
    .command('decisions')
    .description('tasks of which nobody knows what became, or that could not be undone');
  withTenant(withJson(withClient(decisions.command('list'))))
    .description('list those that wait, the longest waiting first')
    .addHelpText('after', examples('troupe decisions list'))
    .action(async (options: DecisionsOptions) => {
      finish(await (await import('./decisions.ts')).list(options));
    });
  withTenant(withJson(withClient(decisions.command('answer'))))
    .argument('<task>', 'the task')
    .addArgument(
      new Argument('<decision>', 'what becomes of it').choices([
        'again',
        'done',
        'failed',
        'accept',
      ]),
    )
    .requiredOption('--why <text>', 'the reason; it is kept')
    .option('--result <json>', 'with done: what the work came to', jsonOf)
    .description('decide one: do it again, it was done, it failed, or leave it as it is')
    .addHelpText(
      'after',
      examples("troupe decisions answer 7f3c done --why 'the bank has the transfer'"),
    )
    .action(async (task: string, decision: string, options: DecideOptions) => {
      finish(await (await import('./decisions.ts')).decide(task, decision, options));
    });
}

/** Refused by commander with the option's name. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError('Give JSON.');
  }
}
