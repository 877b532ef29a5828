/** The commands for approvals. */
import { type Command, Option } from 'commander';
import type { AnswerOptions, ApprovalsOptions } from './approvals.ts';
import {
  defaultCommand,
  examples,
  type Finish,
  withClient,
  withJson,
  withTenant,
} from './command-parts.ts';

export function addApprovalsCommands(program: Command, finish: Finish): void {
  const approvals = program
    .command('approvals')
    .description('what waits for a person to say yes or no');
  withTenant(withJson(withClient(defaultCommand(approvals, 'list'))))
    .description('list those that wait, the longest waiting first')
    .addOption(
      new Option('--state <state>', 'others than those that wait')
        .choices(['asked', 'allowed', 'denied', 'expired', 'all'])
        .default('asked'),
    )
    .addHelpText('after', examples('troupe approvals', 'troupe approvals list --state all'))
    .action(async (options: ApprovalsOptions) => {
      finish(await (await import('./approvals.ts')).list(options));
    });
  withTenant(withJson(withClient(approvals.command('answer'))))
    .argument('<id>', 'the approval')
    .argument('<decision>', 'an answer that `troupe approvals` lists: allow-once, deny, …')
    .option('--why <text>', 'the reason; it is recorded')
    .description('answer one; the first answer counts')
    .addHelpText(
      'after',
      examples(
        "troupe approvals answer 7f3c.1 skip --why 'the mail can not be taken back'",
        'troupe approvals answer r8.call_1 allow-once',
        "troupe approvals answer r8.call_1 allow-always --why 'it only reads'",
      ),
    )
    .action(async (id: string, decision: string, options: AnswerOptions) => {
      finish(await (await import('./approvals.ts')).answer(id, decision, options));
    });
}
